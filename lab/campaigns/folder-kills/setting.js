// @ts-nocheck
'use strict'
// What a folder has, by its seed; and how each process opens it.

const fs = require('node:fs')
const path = require('node:path')
const { Forwarder } = require('@millrace/forwarder')
const { createIndex } = require('@millrace/index')
const { open } = require('millrace')

const FILES = { checked: 'a.log', lines: 'a.jsonl', offset: 'a.offset', segments: 'a', 'line-segments': 'a' }
const KINDS = Object.keys(FILES)
const PARTS = ['index', 'view', 'forwarder']
/** So many values of the field `k`. */
const K_COUNT = 9

/** Of a folder, for as long as it lives. */
function chooseSetting (random, kind = KINDS[random(KINDS.length)]) {
  const isFolder = kind.endsWith('segments')
  const drop = isFolder ? [null, null, 'count', 'size', 'keep', 'before'][random(6)] : null
  return {
    kind,
    isFolder,
    compress: isFolder && random(2) === 0,
    hasTime: isFolder && random(2) === 0,
    drop: kind === 'line-segments' && drop === 'keep' ? 'count' : drop,
    isHeld: random(2) === 0
  }
}

/** Of one process. */
function chooseLife (random, setting) {
  return {
    seed: random(2 ** 31),
    parts: PARTS.filter(() => random(4) > 0),
    fsync: ['always', 'interval', 'never'][random(3)],
    segmentSize: 6000 + random(60_000),
    textSize: [10, 200, 3000][random(3)],
    saveMs: [1, 20, 5000][random(3)],
    tuning: { recordsMax: 10 + random(300), fanOut: 2 + random(3), waitMs: 1 + random(30) },
    maxSize: 2 ** 20
  }
}

const pathOf = (folder, { kind }) => path.join(folder, FILES[kind])

/** @type {(folder: string, setting: any, life: any, others?: object) => any} */
function openLog (folder, setting, { parts, fsync, segmentSize, tuning, maxSize }, others = {}) {
  const { kind, isFolder, drop, compress, hasTime } = setting
  return open(pathOf(folder, setting), {
    fsync,
    ...kind === 'offset' && { framing: 'offset48' },
    ...parts.includes('index') && { index: createIndex(['k', { path: 'n', range: true }], { tuning }) },
    ...isFolder && {
      framing: kind === 'segments' ? 'checked' : 'lines',
      segmentSize,
      ...compress && { compress: 'gzip' },
      ...hasTime && { time: ['at'] },
      ...drop === 'count' && { maxCount: 4 },
      ...drop === 'keep' && { maxCount: 4, keep: { where: { path: 'k', equals: 0 } } },
      ...drop === 'size' && { maxSize }
    },
    ...others
  })
}

/** Says of all records what they are. */
const listing = {
  name: 'list',
  version: 1,
  initial: { count: 0, sum: 0, last: -1 },
  reduce: ({ count, sum }, value, seq) => {
    return { count: count + 1, sum: (Math.imul(sum, 31) + mix(value) + seq % 1e6) | 0, last: value.n }
  }
}

const mix = ({ n, life, text }) => (Math.imul(n, 0x9e3779b1) ^ Math.imul(life, 0x85ebca6b) ^ text.length) | 0

/** @type {(log: any, sink: Function, onReport?: Function) => any} */
function beginForwarder (log, sink, onReport = () => {}) {
  return Forwarder(log, {
    name: 'send',
    sink,
    batch: { count: 50, ageMs: 5 },
    backoff: { minMs: 1, maxMs: 10 },
    lagMs: 0,
    onReport
  })
}

/** Of each record that a sink got. */
function noteSent (file, records) {
  fs.appendFileSync(file, records.map(({ value }) => nameOf(value)).join(''))
}

function isSent (file) {
  const sent = new Set(fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split(/(?<=\n)/) : [])
  return (value) => sent.has(nameOf(value))
}

const nameOf = ({ n, life }) => `${n} ${life}\n`

exports.FILES = FILES
exports.KINDS = KINDS
exports.K_COUNT = K_COUNT
exports.beginForwarder = beginForwarder
exports.chooseLife = chooseLife
exports.chooseSetting = chooseSetting
exports.isSent = isSent
exports.listing = listing
exports.noteSent = noteSent
exports.openLog = openLog
exports.pathOf = pathOf
