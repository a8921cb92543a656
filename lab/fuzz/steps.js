// @ts-nocheck
'use strict'
// Counts steps: one for each function entered and each turn of a loop in the counted copy of the sources, and one for
// every few bytes that a built-in function copies, fills, compares, decodes or sums up on their behalf.

const zlib = require('node:zlib')

/** So many bytes handled by a built-in function count as one step. */
const BYTES_PER_STEP = 64
// A case that takes more ends with an exception: an endless loop too.
const STEPS_MAX = 200_000_000

class StepLimitError extends Error {}

/** The counted sources add to `n` themselves, and call `stop` above `max`. */
class StepCounter {
  constructor () {
    this.n = 0
    this.max = STEPS_MAX
    /** Whether built-in functions are called on behalf of the counted sources. */
    this.isOn = false
  }

  stop () {
    // What a case left behind counts for none.
    if (!this.isOn) this.n = 0
    else throw new StepLimitError(`more than ${this.max} steps`)
  }

  start () {
    this.n = 0
    this.isOn = true
  }

  /** @returns {number}  steps since the start */
  end () {
    this.isOn = false
    return this.n
  }

  /** @param {number} bytes */
  add (bytes) {
    this.n += Math.ceil(bytes / BYTES_PER_STEP)
  }
}

/**
 * @param {StepCounter} counter
 * @returns {() => void}  puts back what was there
 */
function countBuiltIns (counter) {
  const typedArray = Object.getPrototypeOf(Uint8Array.prototype)
  /** @type {Array<[any, string, (self: any, args: any[], result: any) => number]>} */
  const wrapped = [
    [Buffer.prototype, 'copy', (self, args, result) => result],
    [Buffer.prototype, 'fill', (self, [, start = 0, end = self.length]) => end - start],
    [Buffer.prototype, 'compare', (self, [, start = 0, end = self.length]) => end - start],
    [Buffer.prototype, 'equals', (self) => self.length],
    [Buffer.prototype, 'indexOf', (self) => self.length],
    [Buffer.prototype, 'toString', (self, args, result) => result.length],
    [Buffer.prototype, 'latin1Slice', (self, args, result) => result.length],
    [Buffer.prototype, 'utf8Slice', (self, args, result) => result.length],
    [Buffer.prototype, 'utf8Write', (self, args, result) => result],
    [typedArray, 'set', (self, [source]) => source.length],
    [typedArray, 'copyWithin', (self, [, start, end = self.length]) => end - start],
    [typedArray, 'reverse', (self) => self.length],
    [Buffer, 'from', (self, args, result) => result.length],
    [Buffer, 'alloc', (self, [size]) => size],
    [Buffer, 'concat', (self, args, result) => result.length],
    [Buffer, 'compare', (self, [one, other]) => Math.min(one.length, other.length)],
    [Buffer, 'byteLength', (self, [text]) => text.length],
    [zlib, 'crc32', (self, [bytes]) => bytes.length],
    ...nativeCrc32()
  ]
  const before = wrapped.map(([owner, name]) => Object.getOwnPropertyDescriptor(owner, name))
  for (const [owner, name, sizeOf] of wrapped) {
    const original = owner[name]
    // As many as any of them takes: a rest parameter would take longer than most of them.
    const counting = function (a, b, c, d, e) {
      const result = original.call(this, a, b, c, d, e)
      if (counter.isOn) counter.add(sizeOf(this, [a, b, c, d], result))
      return result
    }
    Object.defineProperty(owner, name, { value: counting, writable: true, configurable: true })
  }
  return () => wrapped.forEach(([owner, name], index) => Object.defineProperty(owner, name, before[index]))
}

/** Of the package that the checked framing takes where it is installed. */
function nativeCrc32 () {
  try {
    return [[require('@node-rs/crc32'), 'crc32', (self, [bytes]) => bytes.length]]
  } catch {
    return []
  }
}

exports.StepCounter = StepCounter
exports.StepLimitError = StepLimitError
exports.countBuiltIns = countBuiltIns
