'use strict'
// Standard error, as the place for records that no log takes: a record that was written is there, even if the process
// ends in the next moment.
//
// `process.stderr.write` only queues what a pipe or a socket cannot take now, and the end of the process drops that
// queue. So the records are written to the descriptor itself.

const { isMainThread } = require('node:worker_threads')
const { writeOutSync } = require('@millrace/block-file')

const FD = 2
// A reader that takes nothing for so long is not waited for again before it takes something.
const PATIENCE_MS = 1000
const NEWLINE = Buffer.from('\n')
const EMPTY = Buffer.alloc(0)

let isStuck = false
/** Whether the last thing written there is a part of a line. */
let isTorn = false

/**
 * Adds an end of line to each record.
 * @param {Buffer[]} records
 * @returns {number}  how many of them are written: fewer if nobody reads
 */
function writeLines (records) {
  const size = write(Buffer.concat(records.flatMap((record) => [record, NEWLINE])))
  let count = 0
  for (let end = 0; count < records.length && (end += records[count].length + 1) <= size;) count++
  return count
}

/** @param {Buffer} bytes  whole lines @returns {number}  how many of them are written */
function write (bytes) {
  const stream = findStream()
  // Somebody has put a function of its own there, to see what is written.
  if (stream !== null && stream.write !== Object.getPrototypeOf(stream).write) {
    stream.write(bytes)
    return bytes.length
  }
  // The stream may have written a part of what it was given. Then these lines would continue one of others.
  const begin = isTorn || (stream?.writableLength ?? 0) > 0 ? NEWLINE : EMPTY
  const size = writeOutSync(FD, Buffer.concat([begin, bytes]), isStuck ? 0 : PATIENCE_MS)
  const writtenSize = Math.max(0, size - begin.length)
  isStuck = writtenSize < bytes.length
  if (writtenSize > 0) isTorn = bytes[writtenSize - 1] !== NEWLINE[0]
  return writtenSize
}

function findStream () {
  // That of a worker thread only sends to the main thread.
  if (!isMainThread) return null
  try {
    // To ask for it also makes a pipe non-blocking: then a reader that has stopped cannot stop this process.
    return process.stderr
  } catch {
    return null
  }
}

/** What writers use unless they are given something else. */
exports.descriptor = { writeLines, write }
