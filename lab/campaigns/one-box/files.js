// @ts-nocheck
'use strict'
// The files of a box: which of them belong to the log, and what may be lost, or come back from an older copy.

const fs = require('node:fs')
const path = require('node:path')
const { FILES, pathOf } = require('./settings')

const SEGMENT = /^\d{16}-.*\.(log|jsonl)/

/** What is copied of a box. But for the socket of a lock: whoever was killed leaves it. */
function copyAll (from, to) {
  const filter = (file) => !fs.lstatSync(file).isSocket()
  fs.cpSync(from, to, { recursive: true, preserveTimestamps: true, filter })
}

/** Of what is in the folder of a box, what the log is itself. @param {string} name  below that folder */
function isOfLog (name, { kind, isFolder }) {
  const file = FILES[kind]
  if (/^http(\/log-\w+)?$/.test(name) || (name.startsWith('http/log-') && SEGMENT.test(path.basename(name)))) return true
  if (!isFolder) return name === file || name === `${file}.sums`
  const [parent, segment] = [path.dirname(name), path.basename(name)]
  return name === file || (parent === file && SEGMENT.test(segment))
}

const ofLog = (folder, setting) => fs.readdirSync(folder, { recursive: true }).filter((name) => isOfLog(name, setting))

/** What comes back from a copy of all, by name. Nobody has the log open. */
const RESTORES = {
  all: ({ folder, copy }) => {
    fs.rmSync(folder, { recursive: true })
    copyAll(copy, folder)
  },
  'the log alone': ({ folder, copy, setting }) => {
    fs.rmSync(folder, { recursive: true })
    fs.mkdirSync(folder)
    copyLog(copy, folder, setting)
  },
  'the log, beside what is newer': ({ folder, copy, setting }) => {
    removeLog(folder, setting)
    copyLog(copy, folder, setting)
  },
  'all but the log': ({ folder, copy, setting }) => {
    const kept = `${folder}-kept`
    fs.mkdirSync(kept)
    copyLog(folder, kept, setting)
    fs.rmSync(folder, { recursive: true })
    copyAll(copy, folder)
    removeLog(folder, setting)
    copyLog(kept, folder, setting)
    fs.rmSync(kept, { recursive: true })
  }
}

function copyLog (from, to, setting) {
  for (const name of ofLog(from, setting)) {
    if (fs.statSync(path.join(from, name)).isDirectory()) fs.mkdirSync(path.join(to, name), { recursive: true })
    else fs.copyFileSync(path.join(from, name), path.join(to, name))
  }
}

function removeLog (folder, setting) {
  for (const name of ofLog(folder, setting)) {
    if (!fs.statSync(path.join(folder, name)).isDirectory()) fs.rmSync(path.join(folder, name))
  }
}

/** What may be removed at any time: it is made again. */
function removeDerived (folder, setting, random) {
  const file = pathOf(folder, setting)
  const index = setting.isFolder ? path.join(file, 'index') : `${file}.index`
  const runs = fs.existsSync(index) ? fs.readdirSync(index).map((name) => path.join(index, name)) : []
  const others = [`${file}.list.view`, ...setting.isFolder ? [path.join(file, 'times'), path.join(file, 'newest')] : []]
  const some = (names, one) => names.filter(() => random(one) === 0)
  const chosen = [[index], some(runs, 4), runs.slice(-1), some(others, 2)][random(4)]
  for (const name of chosen) fs.rmSync(name, { recursive: true, force: true })
  return chosen.map((name) => path.relative(folder, name))
}

/** What may be removed while nobody has the log open. @returns {{ removed: string[], isLogNew: boolean }} */
function removeAtRest (folder, setting, random) {
  const names = fs.readdirSync(folder, { recursive: true })
  const cursors = names.filter((name) => name.endsWith('.cursor') && random(2) === 0)
  const sums = random(3) > 0 ? [] : names.filter((name) => name.endsWith('.sums') && random(3) > 0)
  for (const name of [...cursors, ...sums]) fs.rmSync(path.join(folder, name))
  return { removed: [...cursors, ...sums], isLogNew: sums.length > 0 }
}

exports.RESTORES = RESTORES
exports.copyAll = copyAll
exports.removeAtRest = removeAtRest
exports.removeDerived = removeDerived
