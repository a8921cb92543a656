'use strict'
// Checks one JSON text in UTF-8, byte by byte, in pieces of any size, and builds nothing: whoever takes bytes from
// strangers knows how large, how deep and how long a value is before anything is made from it.

/** Arrays and objects inside one another, as in binaryCodec. Engines differ in what they bear; all bear this. */
const DEPTH_MAX = 1000
const [SPACE, QUOTE, BACKSLASH] = Buffer.from(' "\\')
const IS_SPACE = new Uint8Array(256)
for (const byte of Buffer.from(' \n\r\t')) IS_SPACE[byte] = 1

// A state for each place in a text. What a byte leads to is in one table, so a text may be cut anywhere.
const PARTS_OF_TEXT = ['', ' escape', ' u1', ' u2', ' u3', ' u4', ' more1', ' more2', ' more3', ' e0', ' ed', ' f0', ' f4']
const STATES = [
  'value', 'first item', 'first key', 'key', 'colon', 'end',
  ...['text', 'name'].flatMap((kind) => PARTS_OF_TEXT.map((part) => kind + part)),
  'minus', 'zero', 'whole', 'point', 'fraction', 'e', 'sign', 'exponent',
  't', 'tr', 'tru', 'f', 'fa', 'fal', 'fals', 'n', 'nu', 'nul'
]
const stateOf = (/** @type {string} */ name) => STATES.indexOf(name)
const [VALUE, FIRST_ITEM, FIRST_KEY, KEY, END, TEXT, FIRST_BEHIND_TEXTS] =
  ['value', 'first item', 'first key', 'key', 'end', 'text', 'minus'].map(stateOf)
/** In a text it stands for itself. */
const IS_PLAIN = new Uint8Array(256).fill(1, SPACE, 0x80)
IS_PLAIN[QUOTE] = IS_PLAIN[BACKSLASH] = 0
/** A number is over when something else comes, which may be the end. */
const LAST_DIGITS = ['zero', 'whole', 'fraction', 'exponent']
const IS_LAST_DIGIT = new Uint8Array(STATES.length)
for (const name of LAST_DIGITS) IS_LAST_DIGIT[stateOf(name)] = 1
/** What is more than a step to another state. */
const ACTION = 64
const [WRONG, OPEN_OBJECT, OPEN_ARRAY, CLOSE_OBJECT, CLOSE_ARRAY, COMMA] = [64, 65, 66, 67, 68, 69]
const TABLE = createTable()

/** @returns {Uint8Array} by state and byte */
function createTable () {
  const table = new Uint8Array(STATES.length * 256).fill(WRONG)
  /** @type {(from: string, bytes: string | number[] | Buffer, to: string | number) => void} */
  const go = (from, bytes, to) => {
    const next = typeof to === 'number' ? to : stateOf(to)
    for (const byte of Buffer.from(/** @type {any} */ (bytes))) table[stateOf(from) << 8 | byte] = next
  }
  for (const name of ['value', 'first item', 'first key', 'key', 'colon', 'end']) go(name, ' \n\r\t', name)
  for (const name of ['value', 'first item']) {
    for (const [byte, to] of Object.entries({ '"': 'text', '-': 'minus', 0: 'zero', t: 't', f: 'f', n: 'n' })) go(name, byte, to)
    go(name, '123456789', 'whole')
    go(name, '{', OPEN_OBJECT)
    go(name, '[', OPEN_ARRAY)
  }
  go('first item', ']', CLOSE_ARRAY)
  go('first key', '}', CLOSE_OBJECT)
  for (const name of ['first key', 'key']) go(name, '"', 'name')
  go('colon', ':', 'value')
  for (const [kind, behind] of [['text', 'end'], ['name', 'colon']]) addString(go, kind, behind)
  addNumbers(go)
  for (const word of ['true', 'false', 'null']) {
    for (let length = 1; length < word.length; length++) {
      go(word.slice(0, length), word[length], length + 1 < word.length ? word.slice(0, length + 1) : 'end')
    }
  }
  for (const name of ['end', ...LAST_DIGITS]) {
    go(name, ' \n\r\t', 'end')
    go(name, ',', COMMA)
    go(name, '}', CLOSE_OBJECT)
    go(name, ']', CLOSE_ARRAY)
  }
  return table
}

/** @type {(first: number, last: number) => number[]} */
function span (first, last) {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

/**
 * Of UTF-8 as the Unicode standard has it: no surrogates, nothing longer than needed.
 * @type {(go: any, kind: string, behind: string) => void}
 */
function addString (go, kind, behind) {
  const more = span(0x80, 0xbf)
  go(kind, span(0x20, 0x7f), kind)
  go(kind, '"', behind)
  go(kind, '\\', `${kind} escape`)
  go(`${kind} escape`, '"\\/bfnrt', kind)
  go(`${kind} escape`, 'u', `${kind} u1`)
  for (const [from, to] of [[' u1', ' u2'], [' u2', ' u3'], [' u3', ' u4'], [' u4', '']]) {
    go(kind + from, '0123456789abcdefABCDEF', kind + to)
  }
  go(kind, span(0xc2, 0xdf), `${kind} more1`)
  go(kind, [...span(0xe1, 0xec), 0xee, 0xef], `${kind} more2`)
  go(kind, span(0xf1, 0xf3), `${kind} more3`)
  /** @type {Array<[byte: number, first: number, last: number, to: string]>} */
  const narrow = [
    [0xe0, 0xa0, 0xbf, 'more1'], [0xed, 0x80, 0x9f, 'more1'], [0xf0, 0x90, 0xbf, 'more2'], [0xf4, 0x80, 0x8f, 'more2']
  ]
  for (const [byte, first, last, to] of narrow) {
    const between = `${kind} ${byte.toString(16)}`
    go(kind, [byte], between)
    go(between, span(first, last), `${kind} ${to}`)
  }
  go(`${kind} more3`, more, `${kind} more2`)
  go(`${kind} more2`, more, `${kind} more1`)
  go(`${kind} more1`, more, kind)
}

/** @param {any} go */
function addNumbers (go) {
  const digits = '0123456789'
  go('minus', '0', 'zero')
  go('minus', '123456789', 'whole')
  go('whole', digits, 'whole')
  for (const name of ['zero', 'whole']) go(name, '.', 'point')
  for (const name of ['point', 'fraction']) go(name, digits, 'fraction')
  for (const name of ['zero', 'whole', 'fraction']) go(name, 'eE', 'e')
  go('e', '+-', 'sign')
  for (const name of ['e', 'sign', 'exponent']) go(name, digits, 'exponent')
}

/** What a check has found: the value goes on, has ended, or cannot be JSON. */
const MORE = 0
const DONE = 1
const REFUSED = 2

/**
 * Checks JSON that comes in pieces, and builds nothing: for servers, which must know how large and how deep a value
 * is before they make anything from it. It accepts what JSON.parse accepts, in valid UTF-8 and up to 1,000 levels
 * deep. `begin()` starts with a value, `pass(bytes, from, to)` goes on, and `end()` says that no more comes; `status`
 * is then `MORE`, `DONE` or `REFUSED`, with a `reason`.
 */
class JsonCheck {
  /** How many arrays, objects and commas there were: about how many values would have to be built. */
  parts = 0
  /** Why the value was refused. */
  reason = ''
  status = MORE
  #state = VALUE
  #depth = 0
  /** Of each level that is open. @type {boolean[]} */
  #isObject = []

  /** Begins with a new value. */
  begin () {
    this.parts = 0
    this.status = MORE
    this.#state = VALUE
    this.#depth = 0
  }

  /**
   * Goes on with the value. White space before it is part of it, none after it.
   * @type {(bytes: Uint8Array, from: number, to: number) => number}  `to` if the value may go on; otherwise where it
   *   has ended, or where the refused byte is
   */
  pass (bytes, from, to) {
    let state = this.#state
    let at = from
    while (at < to) {
      const byte = bytes[at]
      const next = TABLE[state << 8 | byte]
      if (next < ACTION) {
        state = next
        at++
        // Most bytes are in texts.
        if (state === TEXT) while (at < to && IS_PLAIN[bytes[at]] === 1) at++
        else if (state === END && this.#depth === 0) {
          // White space ends a number, and is not part of it.
          this.status = DONE
          return IS_SPACE[byte] === 1 ? at - 1 : at
        }
      } else if (this.#depth === 0 && IS_LAST_DIGIT[state] === 1) {
        this.status = DONE
        return at
      } else {
        state = this.#act(next, state, byte)
        if (this.status === REFUSED) return at
        at++
        if (this.status === DONE) return at
      }
    }
    this.#state = state
    return to
  }

  /** No more comes, so a number is over. @returns {boolean} whether the value is whole */
  end () {
    if (this.status === MORE && this.#depth === 0 && IS_LAST_DIGIT[this.#state] === 1) this.status = DONE
    return this.status === DONE
  }

  /** @type {(action: number, state: number, byte: number) => number} the state after it */
  #act (action, state, byte) {
    if (action === WRONG) return this.#refuse(describe(state, byte))
    const depth = this.#depth
    if (action === OPEN_OBJECT || action === OPEN_ARRAY) {
      if (depth === DEPTH_MAX) return this.#refuse(`it is nested deeper than ${DEPTH_MAX} levels`)
      this.#isObject[depth] = action === OPEN_OBJECT
      this.#depth++
      this.parts++
      return action === OPEN_OBJECT ? FIRST_KEY : FIRST_ITEM
    }
    const isObject = depth > 0 && this.#isObject[depth - 1]
    if (action === COMMA) {
      if (depth === 0) return this.#refuse(describe(state, byte))
      this.parts++
      return isObject ? KEY : VALUE
    }
    if (depth === 0 || isObject !== (action === CLOSE_OBJECT)) return this.#refuse(describe(state, byte))
    if (--this.#depth === 0) this.status = DONE
    return END
  }

  /** @param {string} reason */
  #refuse (reason) {
    this.reason = reason
    this.status = REFUSED
    return VALUE
  }
}

/** @type {(state: number, byte: number) => string} */
function describe (state, byte) {
  const isText = state >= TEXT && state < FIRST_BEHIND_TEXTS
  if (isText && (byte >= 0x80 || STATES[state].includes('more'))) return 'it is not UTF-8'
  return `${showByte(byte)} is unexpected`
}

/** A byte for people. @param {number} byte */
function showByte (byte) {
  return byte > SPACE && byte < 0x7f ? JSON.stringify(String.fromCharCode(byte)) : `the byte ${byte}`
}

exports.showByte = showByte
exports.DEPTH_MAX = DEPTH_MAX
exports.JsonCheck = JsonCheck
exports.MORE = MORE
exports.DONE = DONE
exports.REFUSED = REFUSED
