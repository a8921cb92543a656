// @ts-nocheck
'use strict'
// What a box has, by its seed: the kind of its log, and the options with which each process opens it.

const path = require('node:path')
const { createIndex } = require('@millrace/index')
const { open } = require('millrace')
const { DAY_MS, chooseClock, chooseClocks } = require('./clocks')
const { PATHS } = require('./records')

const FILES = { checked: 'events.log', lines: 'events.jsonl', segments: 'events', 'line-segments': 'events' }
const DROPS = ['none', 'before', 'count', 'keep', 'size', 'age']
/** All records are younger. */
const AGE_MS = 30 * DAY_MS

/** Of a box, for as long as it lives. */
function chooseSetting (random, kind = Object.keys(FILES)[random(4)]) {
  const isFolder = kind.endsWith('segments')
  const drops = DROPS[random(DROPS.length)]
  const clocks = chooseClocks(random)
  // What is young, only clocks that are wrong in many ways may drop by its age.
  const isHarmless = drops === 'age' && !clocks.areMany
  return {
    kind,
    isFolder,
    drops: !isFolder || isHarmless ? 'none' : kind === 'line-segments' && drops === 'keep' ? 'count' : drops,
    hasAge: drops === 'age',
    clocks,
    http: chooseHttp(random),
    compress: random(2) === 0 && 'gzip',
    hasTime: random(2) === 0,
    hasDays: random(2) === 0
  }
}

/** Of the server that is beside the log; null if there is none. */
function chooseHttp (random) {
  if (random(2) === 0) return null
  return { framing: ['checked', 'lines'][random(2)], drops: random(3) === 0, compress: random(2) === 0 && 'gzip' }
}

/** Of one process. */
function chooseOptions (random, { clocks }) {
  return {
    fsync: ['always', 'interval', 'never'][random(3)],
    umask: [0o22, 0o77, 0o2][random(3)],
    paths: random(5) === 0 ? [] : PATHS.map((_, place) => place).filter(() => random(3) > 0),
    tuning: { recordsMax: 20 + random(400), fanOut: 2 + random(3), waitMs: 1 + random(30) },
    segmentSize: 20_000 + random(200_000),
    clock: chooseClock(random, clocks),
    http: { bufferMs: random(60), hasIndex: random(2) === 0, dictionary: random(3) === 0 }
  }
}

const pathOf = (folder, { kind }) => path.join(folder, FILES[kind])

function openLog (folder, setting, { fsync, paths, tuning, segmentSize }, others = {}) {
  const index = paths.length > 0 && { index: createIndex(paths.map((place) => PATHS[place]), { tuning }) }
  const { drops, compress, hasTime, hasDays, hasAge } = setting
  const ofFolder = setting.isFolder && {
    framing: setting.kind === 'segments' ? 'checked' : 'lines',
    segmentSize,
    ...compress && { compress },
    ...hasTime && { time: ['at'] },
    ...hasDays && { segmentDay: 'UTC' },
    ...hasAge && { maxAge: AGE_MS },
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
