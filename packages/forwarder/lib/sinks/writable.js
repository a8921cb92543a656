'use strict'
// A Writable of Node.js as a sink. A batch is accepted when the stream has called back for the last chunk of it.

const { checkOptions, misuse } = require('@millrace/errors')
const { onAbort } = require('@millrace/flow')
const { formatAll, toLine } = require('./lines')
const { unavailable } = require('../outcomes')

/**
 * @typedef {import('node:stream').Writable} Writable
 * @typedef {import('../options').SinkRecord} SinkRecord
 */

class WritableSink {
  #create
  #format
  /** Null before the first batch and after a failure. @type {Writable | null} */
  #stream = null

  #isOwn

  /**
   * @param {Writable | (() => Writable)} stream
   * @param {((record: SinkRecord) => any) | null} format
   */
  constructor (stream, format) {
    this.#isOwn = typeof stream === 'function'
    this.#create = typeof stream === 'function' ? stream : () => stream
    this.#format = format
  }

  /** @type {(records: SinkRecord[], context: import('../options').SendContext) => Promise<object>} */
  async send (records, { signal }) {
    const stream = this.#stream && isUsable(this.#stream) ? this.#stream : this.#create()
    if (typeof stream?.write !== 'function') throw misuse('writableSink: the function that makes the stream must return a Writable')
    if (!isUsable(stream)) throw unavailable('the stream has ended; give writableSink a function that makes a new one')
    this.#stream = stream
    const format = this.#format ?? (stream.writableObjectMode ? ({ value }) => value : toLine)
    const { chunks, refused } = formatAll(records, format)
    const isText = !stream.writableObjectMode && chunks.every((chunk) => typeof chunk === 'string')
    try {
      if (chunks.length > 0) await writeAll(stream, isText ? [chunks.join('')] : chunks, signal)
    } catch (err) {
      // What it still holds might be written later, out of order.
      stream.on('error', () => {}).destroy()
      throw err
    }
    return { refused }
  }

  /** Ends the stream if it was made here. */
  close () {
    const stream = this.#stream
    if (this.#isOwn && stream !== null && isUsable(stream)) stream.end(() => stream.destroy())
  }
}

/** @param {Writable} stream */
function isUsable (stream) {
  return stream.writable && !stream.destroyed && !stream.writableEnded && !stream.errored
}

/** @type {(stream: Writable, chunks: any[], signal: AbortSignal) => Promise<void>} */
async function writeAll (stream, chunks, signal) {
  let forget = () => {}
  const ended = new Promise((resolve, reject) => {
    const onClose = () => reject(unavailable('the stream was closed before it had written the batch'))
    const forgetAbort = onAbort(signal, () => reject(signal.reason))
    stream.on('error', reject).on('close', onClose)
    forget = () => {
      forgetAbort()
      stream.off('error', reject).off('close', onClose)
    }
    const write = (/** @type {number} */ index) => {
      const settle = (/** @type {Error | null | undefined} */ err) => err ? reject(err) : resolve(undefined)
      if (index === chunks.length - 1) return stream.write(chunks[index], settle)
      if (stream.write(chunks[index])) write(index + 1)
      else stream.once('drain', () => write(index + 1))
    }
    write(0)
  })
  await ended.finally(() => forget())
}

/**
 * Makes a sink that writes a line of JSON for each record, or the values themselves to a stream in object mode. A
 * batch is forwarded when the stream has called back for its last chunk.
 * @param {Writable | (() => Writable)} stream  or a function that makes one, such as `() => net.connect(5170)`: it is
 *   called again after a failure. A stream that failed is destroyed, so without a function nothing more is sent
 * @param {{ format?: ((record: SinkRecord) => any) | undefined }} [options]  `format` returns the chunk for a record,
 *   which is written as it is: add the end of line yourself
 * @returns {import('../options').Sink}
 */
function writableSink (stream, options = {}) {
  checkOptions('writableSink', options, ['format'])
  const { format = null } = options
  if (format !== null && typeof format !== 'function') throw misuse('writableSink: format must be a function')
  if (typeof stream !== 'function' && typeof stream?.write !== 'function') {
    throw misuse('writableSink: expected a Writable, or a function that makes one')
  }
  return new WritableSink(stream, format)
}

exports.writableSink = writableSink
