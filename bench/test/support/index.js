'use strict'
// What several tests of the bench share.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

const BENCH = path.join(__dirname, '..', '..')

/** A fresh folder that is gone when the test ends. */
function makeFolder (t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-bench-'))
  t.teardown(() => fs.rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** What runs a command as a user would, away from a terminal: that of the folder, or of the bench itself. */
function createRunner (folder = '') {
  const file = path.join(BENCH, folder, 'index.js')
  return (...args) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], { encoding: 'utf8' })
    return { status, stdout, stderr }
  }
}

/** Frames as flumelog-offset 3 writes them with 32-bit offsets. */
function frame (records) {
  let end = 0
  return Buffer.concat(records.map((record) => {
    const data = Buffer.from(record)
    const buf = Buffer.alloc(data.length + 12)
    buf.writeUInt32BE(data.length, 0)
    data.copy(buf, 4)
    buf.writeUInt32BE(data.length, data.length + 4)
    buf.writeUInt32BE(end += buf.length, data.length + 8)
    return buf
  }))
}

/** Seqs and raw records of a log with 32-bit offsets. */
function unframe (file) {
  const buf = fs.readFileSync(file)
  const records = []
  for (let seq = 0; seq < buf.length;) {
    const length = buf.readUInt32BE(seq)
    records.push({ seq, data: buf.subarray(seq + 4, seq + 4 + length) })
    seq += length + 12
  }
  return records
}

/** The words of a picture, without the ends of their lines. */
function wordsOf (svg) {
  return svg.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')
}

exports.makeFolder = makeFolder
exports.wordsOf = wordsOf
exports.createRunner = createRunner
exports.runBench = createRunner()
exports.frame = frame
exports.unframe = unframe
