// Runs before the body. It replaces the built-in functions whose loops the engine can't interrupt:
// in one call, they could run for years without memory or code of the body.
(() => {
  'use strict';
  const MAX_LENGTH = 1e7;
  const MAX_SKIPPED = 1e5;
  const MAX_SEARCH = 1e9;
  const MAX_REPLACED = 1e9;
  const MAX_NORMALIZED = 3e4;
  const { apply, defineProperty, getOwnPropertyDescriptor } = Reflect;
  const { isArray } = Array;
  const NativeRangeError = RangeError;
  const NativeNumber = Number;
  const NativeObject = Object;
  const boxes = [Number, String, Boolean, BigInt];
  const { hasOwn } = Object;
  const { iterator: iteratorOf } = Symbol;
  const isObject = (value) => value === NativeObject(value);
  // A template would copy a text.
  const toText = (value) => typeof value === 'string' ? value : `${value}`;
  const refuse = (name, limit) => {
    throw new NativeRangeError(`\`${name}\` is limited to ${limit} here`);
  };
  const replace = (target, name, value) => {
    const descriptor = getOwnPropertyDescriptor(target, name);
    // Another version of the engine may not have it.
    if (!descriptor) return;
    const { writable, configurable } = descriptor;
    defineProperty(target, name, { __proto__: null, value, writable, configurable });
  };

  // Without proxies, the length of an object with its own length is the one that the engine reads.
  delete globalThis.Proxy;
  const check = (name, list) => {
    if (typeof list === 'string') return;
    const length = isObject(list) ? getOwnPropertyDescriptor(list, 'length') : undefined;
    // A getter could return another length to the engine, and so could an object.
    const isFixed = length && hasOwn(length, 'value') && typeof length.value === 'number';
    if (!isFixed || !(length.value <= MAX_LENGTH)) refuse(name, `lists of ${MAX_LENGTH} items`);
  };
  const lists = Array.prototype;
  const guarded = [
    'copyWithin', 'fill', 'join', 'reverse', 'shift', 'slice', 'splice', 'toLocaleString',
    'toReversed', 'toSpliced', 'unshift', 'with',
  ];
  for (const name of guarded) {
    const native = lists[name];
    replace(lists, name, {
      [name](...args) {
        check(name, this);
        return apply(native, this, args);
      },
    }[name]);
  }

  // Code of the body or of this file runs for each comparison, so it can be interrupted.
  const compare = (left, right) => {
    const a = toText(left);
    const b = toText(right);
    return a < b ? -1 : a > b ? 1 : 0;
  };
  for (const name of ['sort', 'toSorted']) {
    const native = lists[name];
    replace(lists, name, {
      [name](order = compare) {
        check(name, this);
        return apply(native, this, [order]);
      },
    }[name]);
  }

  const append = (target, list, depth) => {
    for (let at = 0; at < list.length; at++) {
      if (!(at in list)) continue;
      const item = list[at];
      if (depth >= 1 && isArray(item)) append(target, item, depth - 1);
      else target[target.length] = item;
    }
    return target;
  };
  const { map } = lists;
  replace(lists, 'concat', function concat(...items) {
    return append([], [this, ...items], 1);
  });
  replace(lists, 'flat', function flat(depth = 1) {
    return append([], this, NativeNumber(depth));
  });
  replace(lists, 'flatMap', function flatMap(...args) {
    return append([], apply(map, this, args), 1);
  });

  // The functions below iterate natively. The functions of this object can be interrupted, and check
  // the stack: iterators of iterators call each other without a check.
  const relay = (iterator) => {
    const { next } = iterator;
    return {
      __proto__: null,
      next: () => apply(next, iterator, []),
      return: () => {
        const close = iterator.return;
        return close == null ? {} : apply(close, iterator, []);
      },
      [iteratorOf]() {
        return this;
      },
    };
  };
  const iterate = (method, list) => {
    const iterator = apply(method, list, []);
    return isObject(iterator) ? relay(iterator) : iterator;
  };
  const bound = (method, target) =>
    typeof method === 'function' ? (...args) => apply(method, target, args) : method;
  const sets = Set.prototype;
  const comparisons = [
    'difference', 'intersection', 'isDisjointFrom', 'isSubsetOf', 'isSupersetOf',
    'symmetricDifference', 'union',
  ];
  for (const name of comparisons) {
    const native = sets[name];
    replace(sets, name, {
      [name](other) {
        const { size, has, keys } = other;
        const walked = typeof keys === 'function' ? () => iterate(keys, other) : keys;
        return apply(native, this, [
          { __proto__: null, size, has: bound(has, other), keys: walked },
        ]);
      },
    }[name]);
  }
  const { sumPrecise } = Math;
  replace(Math, 'sumPrecise', {
    sumPrecise(items) {
      return apply(sumPrecise, Math, [iterate(items[iteratorOf], items)]);
    },
  }.sumPrecise);

  const iterators = Iterator.prototype;
  const { drop, flatMap } = iterators;
  for (const name of ['chunks', 'filter', 'includes', 'join', 'map', 'take', 'windows']) {
    const native = iterators[name];
    replace(iterators, name, {
      [name](...args) {
        return apply(native, isObject(this) ? relay(this) : this, args);
      },
    }[name]);
  }
  replace(iterators, 'drop', {
    drop(limit) {
      const count = NativeNumber(limit);
      if (count > MAX_SKIPPED) refuse('drop', `${MAX_SKIPPED} items`);
      return apply(drop, isObject(this) ? relay(this) : this, [count]);
    },
  }.drop);
  // An object that is iterated as `Iterator.from` does it.
  const flattened = (item) => {
    if (!isObject(item)) return item;
    const method = item[iteratorOf];
    return method == null ? relay(item) : iterate(method, item);
  };
  replace(iterators, 'flatMap', {
    flatMap(convert) {
      const isCallable = typeof convert === 'function';
      const checked = isCallable ? (...args) => flattened(convert(...args)) : convert;
      return apply(flatMap, isObject(this) ? relay(this) : this, [checked]);
    },
  }.flatMap);
  const NativeIterator = Iterator;
  const { concat, from } = Iterator;
  replace(Iterator, 'from', {
    from(list) {
      const method = isObject(list) ? list[iteratorOf] : null;
      const iterator = method == null ? list : apply(method, list, []);
      const once = isObject(list) ? { __proto__: null, [iteratorOf]: () => iterator } : list;
      const made = apply(from, NativeIterator, [once]);
      // Another object wraps the iterator.
      const isWrapper = isObject(iterator) && made !== iterator;
      return isWrapper ? apply(from, NativeIterator, [relay(iterator)]) : made;
    },
  }.from);
  replace(Iterator, 'concat', {
    concat(...lists) {
      const relayed = (list) => {
        if (!isObject(list)) return list;
        const method = list[iteratorOf];
        if (typeof method !== 'function') return list;
        return { __proto__: null, [iteratorOf]: () => iterate(method, list) };
      };
      for (let at = 0; at < lists.length; at++) lists[at] = relayed(lists[at]);
      return apply(concat, NativeIterator, lists);
    },
  }.concat);

  // Without memory for the result, the engine continues to replace to the end of the text.
  const checkReplacement = (name, text, value) => {
    if (typeof value === 'function') return value;
    const part = toText(value);
    if (text.length * part.length > MAX_REPLACED) refuse(name, `${MAX_REPLACED} characters`);
    return part;
  };
  const patterns = RegExp.prototype;
  const replaceMatches = patterns[Symbol.replace];
  replace(patterns, Symbol.replace, {
    [Symbol.replace](text, value) {
      const source = toText(text);
      return apply(replaceMatches, this, [source, checkReplacement('replace', source, value)]);
    },
  }[Symbol.replace]);

  const texts = String.prototype;
  const searches = [
    ['indexOf'], ['includes', Symbol.match], ['lastIndexOf'], ['split', Symbol.split],
    ['replace', Symbol.replace], ['replaceAll', Symbol.replace],
  ];
  for (const [name, protocol] of searches) {
    const native = texts[name];
    replace(texts, name, {
      [name](search, ...args) {
        // A regular expression can be interrupted.
        const isPattern = isObject(search) && protocol && search[protocol];
        if (this == null || isPattern || search === undefined) {
          return apply(native, this, [search, ...args]);
        }
        const text = toText(this);
        const part = toText(search);
        if (text.length * part.length > MAX_SEARCH) refuse(name, `${MAX_SEARCH} comparisons`);
        if (name === 'replaceAll') args = [checkReplacement(name, text, args[0])];
        return apply(native, text, [part, ...args]);
      },
    }[name]);
  }

  // The time to order combining characters grows with the square of their number.
  const { localeCompare, normalize } = texts;
  replace(texts, 'normalize', {
    normalize(form) {
      if (this == null) return apply(normalize, this, [form]);
      const text = toText(this);
      if (text.length > MAX_NORMALIZED) refuse('normalize', `${MAX_NORMALIZED} characters`);
      return apply(normalize, text, [form]);
    },
  }.normalize);
  replace(texts, 'localeCompare', {
    localeCompare(other) {
      if (this == null) return apply(localeCompare, this, [other]);
      const text = toText(this);
      const second = toText(other);
      const length = text.length + second.length;
      if (length > MAX_NORMALIZED) refuse('localeCompare', `${MAX_NORMALIZED} characters`);
      return apply(localeCompare, text, [second]);
    },
  }.localeCompare);

  // Without memory for more text, the native loops of the functions below continue to their end.
  replace(String, 'raw', {
    raw({ raw }, ...values) {
      let text = '';
      for (let at = 0; at < raw.length; at++) {
        if (at > 0 && at <= values.length) text += toText(values[at - 1]);
        text += toText(raw[at]);
      }
      return text;
    },
  }.raw);

  // The engine calls a replacer for each item, so it can be interrupted there.
  const { stringify } = JSON;
  const checked = (item) => {
    if (isArray(item)) check('stringify', item);
    return item;
  };
  const isBox = (item) => {
    for (let at = 0; at < boxes.length; at++) if (item instanceof boxes[at]) return true;
    return false;
  };
  const isName = (item) => typeof item === 'string' || typeof item === 'number' || isBox(item);
  // A list of names selects the members of all objects, and their order.
  const selection = (list) => {
    check('stringify', list);
    const names = { __proto__: null };
    let count = 0;
    const known = { __proto__: null };
    for (let at = 0; at < list.length; at++) {
      if (!isName(list[at])) continue;
      const name = toText(list[at]);
      if (!known[name]) names[count++] = name;
      known[name] = true;
    }
    return (key, item) => {
      const isObjectWithNames = typeof item === 'object' && item && !isArray(item) && !isBox(item);
      if (!isObjectWithNames) return checked(item);
      const selected = {};
      for (let at = 0; at < count; at++) {
        const value = item[names[at]];
        if (value === undefined) continue;
        defineProperty(selected, names[at], { __proto__: null, value, enumerable: true });
      }
      return selected;
    };
  };
  replace(JSON, 'stringify', {
    stringify(value, replacer, space) {
      let select = (key, item) => checked(item);
      if (typeof replacer === 'function') {
        select = function (key, item) { return checked(apply(replacer, this, [key, item])); };
      } else if (isArray(replacer)) {
        select = selection(replacer);
      }
      return apply(stringify, undefined, [value, select, space]);
    },
  }.stringify);
})();
