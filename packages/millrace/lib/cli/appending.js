'use strict'
// Lines of JSON into a log: what append and import share.

const { LogError } = require('@millrace/errors')

const BATCH_COUNT = 1000
const BATCH_SIZE = 4 * 1024 * 1024

/**
 * @typedef {{ append: (texts: string[], options: { seqs: boolean }) => Promise<any> }} Log
 * @typedef {{ number: number, text: string }} Line
 * @typedef {{ number: number, text: string | null }} ReadLine  null if its bytes are no UTF-8
 */

/**
 * Each batch is there as a whole or not at all.
 * @param {Log} log
 * @param {AsyncIterable<ReadLine[]> | Iterable<ReadLine[]>} input
 * @param {object} options
 * @param {string | null} options.name  of the input, for messages; null for values of the command line
 * @param {AbortSignal} options.signal  whoever aborts it destroys the input: what has come of it is appended
 * @param {boolean} options.isEager  whether what has come is appended at once
 * @param {(seq: number) => void} [options.onSeq]  gets the seq of each record
 * @param {() => Promise<void>} [options.onAppended]  runs after each batch
 * @returns {Promise<{ records: number, lines: number }>}  how many were appended, and how many lines were read for them
 */
async function appendLines (log, input, { name, signal, isEager, onSeq, onAppended }) {
  const done = { records: 0, lines: 0 }
  /** @type {Line[]} */
  let batch = []
  let size = 0
  const flush = async () => {
    const lines = batch
    batch = []
    size = 0
    await appendBatch(log, lines, { name, done, onSeq })
    await onAppended?.()
  }
  try {
    for await (const lines of input) {
      for (const { number, text } of lines) {
        if (text === null) {
          await flush()
          throw badLine(name, number, done.records, new Error('its bytes are no UTF-8, and would not come back as they are'))
        }
        batch.push({ number, text })
        size += text.length
        if (batch.length >= BATCH_COUNT || size >= BATCH_SIZE) await flush()
      }
      if (isEager) await flush()
    }
  } catch (/** @type {any} */ err) {
    // The command ends, and so its input was closed.
    if (!signal.aborted || err.code !== 'ERR_STREAM_PREMATURE_CLOSE') {
      // What came before is good.
      await flush()
      throw err
    }
  }
  await flush()
  return done
}

/**
 * @param {Log} log
 * @param {Line[]} lines
 * @param {{ name: string | null, done: { records: number, lines: number }, onSeq?: (seq: number) => void }} state
 */
async function appendBatch (log, lines, { name, done, onSeq }) {
  if (lines.length === 0) return
  const count = (/** @type {number} */ records) => {
    done.records += records
    done.lines = records > 0 ? lines[records - 1].number : done.lines
  }
  try {
    const seqs = await log.append(lines.map(({ text }) => text), { seqs: onSeq !== undefined })
    if (onSeq) for (const seq of seqs) onSeq(seq)
    count(lines.length)
  } catch (/** @type {any} */ err) {
    if (err.code !== 'ERR_CODEC_ENCODE' || err.index === undefined) throw err
    // What came before the line that is no record is good.
    const good = lines.slice(0, err.index)
    if (good.length > 0) await appendBatch(log, good, { name, done, onSeq })
    throw badLine(name, lines[err.index].number, done.records, err, lines[err.index].text)
  }
}

/**
 * @param {string | null} name
 * @param {number} number
 * @param {number} records
 * @param {Error} cause
 * @param {string} [text]  of the line
 */
function badLine (name, number, records, cause, text = '') {
  // Of a value that was printed for people, or of a file of one array.
  const isOpen = name !== null && records === 0 && /^\s*[[{]\s*$/.test(text)
  const reason = isOpen ? 'a value only begins there' : cause.message.replace(/^append: (?:value \d+ of the batch: )?/, '')
  const before = records === 0 ? 'nothing was appended' : `what comes before it was appended (${records})`
  const what = name === null ? `value ${number}` : `line ${number} of ${name}`
  const advice = isOpen ? 'A record is one line: jq -c . makes lines of values, and jq -c \'.[]\' of the items of an array' : adviceFor(name, number)
  return new LogError('ERR_CODEC_ENCODE', `${what} is no record: ${reason}; ${before}. ${advice}`, { cause })
}

/** @param {string | null} name @param {number} number */
function adviceFor (name, number) {
  if (name === null) return 'Correct it, and append it and the values after it'
  return `Correct the line, and go on from it${number > 1 ? ` with tail -n +${number}` : ''}`
}

exports.appendLines = appendLines
