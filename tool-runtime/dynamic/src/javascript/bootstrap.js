// Runs before the body, in the same context. The body can't reach the variables of this function.
(request, request_fetch, log, calls_tools, body) => {
  'use strict';
  const NativePromise = Promise;
  const NativeError = Error;
  const NativeTypeError = TypeError;
  const waiting = { __proto__: null };
  const define = Object.defineProperty;
  // The one of `guards.js`: the host converts no values itself.
  const { parse, stringify } = JSON;
  const console = {};
  for (const level of ['debug', 'error', 'info', 'log', 'warn']) {
    console[level] = (...values) => {
      const texts = [];
      for (let at = 0; at < values.length; at++) {
        const value = typeof values[at] === 'string' ? values[at] : stringify(values[at]);
        define(texts, at, { __proto__: null, value });
      }
      log(texts);
    };
  }
  define(globalThis, 'console', { __proto__: null, value: Object.freeze(console) });
  if (calls_tools) {
    const call_tool = (name, args = {}) => new NativePromise((resolve, reject) => {
      waiting[request(name, stringify(args))] = { __proto__: null, resolve, reject };
    });
    define(globalThis, 'call_tool', { __proto__: null, value: Object.freeze(call_tool) });
  }
  const to_response = ({ status, url, headers, body }) => ({
    status,
    ok: status >= 200 && status < 300,
    url,
    headers,
    text: async () => body,
    json: async () => parse(body),
  });
  if (request_fetch) {
    const fetch = (url, { method, headers, body } = {}) => new NativePromise((resolve, reject) => {
      if (body != null && typeof body !== 'string') {
        throw new NativeTypeError('`body` is a text: send `JSON.stringify(value)`');
      }
      const request = { __proto__: null, url: `${url}`, method, headers, body };
      const id = request_fetch(stringify(request));
      waiting[id] = { __proto__: null, resolve: (value) => resolve(to_response(value)), reject };
    });
    define(globalThis, 'fetch', { __proto__: null, value: Object.freeze(fetch) });
  }
  const settle = (id, is_success, value) => {
    const { resolve, reject } = waiting[id];
    delete waiting[id];
    if (is_success) {
      resolve(value);
    } else {
      reject(new NativeError(value));
    }
  };
  const AsyncFunction = (async () => {}).constructor;
  return [new AsyncFunction('args', body), settle, stringify];
}
