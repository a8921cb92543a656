'use strict'
// Writers at hand: one for the value that is being encoded, and one more for each that its toJSON encodes meanwhile.
// Each keeps its memory, so that what is encoded within others shares some as well.

const { Writer } = require('./writer')

/** Who goes deeper gets a new one each time. */
const IDLE_COUNT_MAX = 8

/**
 * @param {{ isCanonical: boolean }} options
 * @returns {<T>(value: unknown, use: (writer: Writer, size: number) => T) => T}  writes a value; `use` may take what
 *   was written
 */
function createWithWritten ({ isCanonical }) {
  /** @type {Writer[]} */
  const idle = []
  return (value, use) => {
    const writer = idle.pop() ?? new Writer({ isCanonical })
    try {
      return use(writer, writer.write(value))
    } finally {
      if (idle.length < IDLE_COUNT_MAX) idle.push(writer)
    }
  }
}

exports.createWithWritten = createWithWritten
