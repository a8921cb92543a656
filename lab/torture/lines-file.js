'use strict'
// The file of a log of lines as other programs see it: JSON Lines, which are the records, and nothing else.

const { Violation } = require('./violation')

/**
 * @typedef {import('./compare').Found} Found
 * @typedef {{ read: (file: string) => Buffer }} Files  a simulated disk, or a real one
 */

/**
 * An independent reader: splits the text, parses each line, and must have what the log delivered.
 * @param {Files} files
 * @param {string} file
 * @param {Found[]} found  all records
 * @throws {Violation}
 */
function checkLines (files, file, found) {
  const bytes = files.read(file)
  if (bytes.includes(0)) throw new Violation('wrong answer', `the text has a zero byte at ${bytes.indexOf(0)}`)
  let count = 0
  let start = 0
  for (const line of bytes.toString('utf8').split('\n')) {
    const size = Buffer.byteLength(line)
    if (line !== '') checkLine(line, start, size, found[count++])
    start += size + 1
  }
  if (count !== found.length) throw new Violation('wrong answer', `the file has ${count} lines, and the log ${found.length}`)
}

/** @type {(line: string, start: number, size: number, record: Found | undefined) => void} */
function checkLine (line, start, size, record) {
  try {
    JSON.parse(line)
  } catch (err) {
    throw new Violation('never appended', `the line at ${start} is no JSON: ${/** @type {Error} */ (err).message}`)
  }
  const isSame = record !== undefined && record.seq === start && record.end - record.start === size &&
    record.buffer.toString('utf8', record.start, record.end) === line
  if (!isSame) throw new Violation('wrong answer', `the line at ${start} is not the record that the log has at ${record?.seq}`)
}

/**
 * What opening must keep.
 * @param {import('@millrace/testkit').SimulatedDisk} disk
 * @param {string} file
 * @returns {Buffer | null}  null if there is no file, or if opening finishes writing its end anew, from a copy
 */
function readBefore (disk, file) {
  const names = disk.list()
  return names.includes(file) && !names.includes(`${file}.tail`) ? disk.read(file) : null
}

/**
 * Opening changes no byte of the file. What it cuts off is kept.
 * @param {Buffer | null} before  the file before it was opened
 * @param {Files} files
 * @param {string} file
 * @param {any} recovery
 * @throws {Violation}
 */
function checkOpening (before, files, file, recovery) {
  if (recovery?.changed) throw new Violation('refused', `after a crash, but: ${recovery.changed}`)
  if (before === null) return
  const kept = recovery?.keptAt ? files.read(recovery.keptAt) : Buffer.alloc(0)
  if (Buffer.concat([files.read(file), kept]).equals(before)) return
  throw new Violation('promised lost', `opening has changed the file, and ${recovery?.keptAt ?? 'nothing'} has the rest`)
}

exports.checkLines = checkLines
exports.checkOpening = checkOpening
exports.readBefore = readBefore
