'use strict'
// In place of the stream of pino's own tests: what pino writes goes into a log, and is read from there.

const { Readable, Writable } = require('node:stream')
const { after } = require('node:test')
const { jsonCodec } = require('@millrace/json-codec')
const { SegmentedLog } = require('@millrace/segmented-log')
const { destination } = require('..')
const { newFolder } = require('./helper')

const opened = new Set()
let isOver = false
after(() => {
  isOver = true
  return Promise.all([...opened].map((one) => one.close()))
})

const METADATA = ['lastLevel', 'lastObj', 'lastMsg', 'lastTime', 'lastLogger']

/** @param {(value: any, encoding: string, cb: () => void) => void} [onRecord] */
function sink (onRecord) {
  const to = destination(newFolder(), { batch: { ageMs: 1 } })
  const records = new Readable({ objectMode: true, read () {} })
  opened.add(to)
  follow(to, records)
  const stream = Object.assign(records, {
    [Symbol.for('pino.metadata')]: true,
    writable: true,
    write: (text) => {
      for (const name of METADATA) if (stream[name] !== undefined) to[name] = stream[name]
      return to.write(text)
    },
    end: () => to.end()
  })
  if (onRecord) stream.pipe(new Writable({ objectMode: true, write: onRecord }))
  return stream
}

async function follow (to, records) {
  await new Promise((resolve) => to.once('ready', resolve))
  if (isOver) return
  const log = SegmentedLog(to.folder ?? to.log.filename, { flags: 'r', codec: jsonCodec })
  opened.add(log)
  for await (const value of log.stream({ live: true, seqs: false })) records.push(value)
}

exports.sink = sink
