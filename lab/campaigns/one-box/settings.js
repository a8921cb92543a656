// @ts-nocheck
'use strict'
// What a box has, by its seed: the kind of its log, and the options with which each process opens it.

const path = require('node:path')
const { createIndex } = require('@millrace/index')
const { open } = require('millrace')
const { PATHS } = require('./records')

const FILES = { checked: 'events.log', lines: 'events.jsonl', segments: 'events', 'line-segments': 'events' }
const DROPS = ['none', 'before', 'count', 'keep', 'size']

/** Of a box, for as long as it lives. */
function chooseSetting (random, kind = Object.keys(FILES)[random(4)]) {
  const drops = DROPS[random(DROPS.length)]
  return {
    kind,
    isFolder: kind.endsWith('segments'),
    drops: !kind.endsWith('segments') ? 'none' : kind === 'line-segments' && drops === 'keep' ? 'count' : drops,
    compress: random(2) === 0 && 'gzip',
    hasTime: random(2) === 0
  }
}

/** Of one process. */
function chooseOptions (random) {
  return {
    fsync: ['always', 'interval', 'never'][random(3)],
    umask: [0o22, 0o77, 0o2][random(3)],
    paths: random(5) === 0 ? [] : PATHS.map((_, place) => place).filter(() => random(3) > 0),
    tuning: { recordsMax: 20 + random(400), fanOut: 2 + random(3), waitMs: 1 + random(30) },
    segmentSize: 20_000 + random(200_000),
    clockMs: random(4) === 0 ? random(7_200_000) - 3_600_000 : 0
  }
}

const pathOf = (folder, { kind }) => path.join(folder, FILES[kind])

function openLog (folder, setting, { fsync, paths, tuning, segmentSize }, others = {}) {
  const index = paths.length > 0 && { index: createIndex(paths.map((place) => PATHS[place]), { tuning }) }
  const { drops, compress, hasTime } = setting
  const ofFolder = setting.isFolder && {
    framing: setting.kind === 'segments' ? 'checked' : 'lines',
    segmentSize,
    ...compress && { compress },
    ...hasTime && { time: ['at'] },
    ...(drops === 'count' || drops === 'keep') && { maxCount: 5 },
    ...drops === 'size' && { maxSize: 1_600_000 },
    ...drops === 'keep' && { keep: { where: { path: 'type', equals: 'kept' } } }
  }
  return open(pathOf(folder, setting), { fsync, ...index, ...ofFolder, ...others })
}

exports.FILES = FILES
exports.chooseOptions = chooseOptions
exports.chooseSetting = chooseSetting
exports.openLog = openLog
exports.pathOf = pathOf
