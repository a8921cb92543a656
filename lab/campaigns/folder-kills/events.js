// @ts-nocheck
'use strict'
// What people and systems do to a folder.

const fs = require('node:fs')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const { pathOf } = require('./setting')

/** But for sockets. */
function copyAll (from, to) {
  const filter = (file) => {
    try {
      return !fs.lstatSync(file).isSocket()
    } catch {
      return false
    }
  }
  fs.cpSync(from, to, { recursive: true, preserveTimestamps: true, filter })
}

/** A copy of what is being written: files come and go. */
function copyBusy (from, to) {
  fs.mkdirSync(to, { recursive: true })
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [a, b] = [path.join(from, entry.name), path.join(to, entry.name)]
    try {
      if (entry.isDirectory()) copyBusy(a, b)
      else if (entry.isFile()) fs.copyFileSync(a, b)
    } catch (err) {
      if (err.code !== 'ENOENT') throw err
    }
  }
}

function restoreAll (box) {
  copyAll(box.backup, box.folder)
  restored(box)
}

/** Whatever came after the backup is gone. */
function restored (box) {
  box.acked = box.backupAcked
  box.held = null
}

function move (box) {
  const folder = path.join(path.dirname(box.folder), `box-${++box.moves}`)
  fs.renameSync(box.folder, folder)
  box.folder = folder
}

function filesIn (folder) {
  const files = fs.readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  // Node.js 20.19 has both, later ones have the first.
  return files.map(({ parentPath, path: older, name }) => path.join(parentPath ?? older, name))
}

function touch (box) {
  const time = new Date(['1970-01-01', '2099-01-01'][box.random(2)])
  for (const file of filesIn(box.folder)) {
    try {
      if (box.random(2) === 0) fs.utimesSync(file, time, time)
    } catch {}
  }
}

function putBack (box, file) {
  fs.cpSync(file, path.join(box.folder, path.relative(box.backup, file)), { preserveTimestamps: true })
}

const isDerived = (name) => /\.index(\/|$)|\/index(\/|$)|\.view$|\/times$|\/newest$/.test(name)

/** Of what may be removed at any time. */
function chooseDerived (box) {
  return filesIn(box.folder).filter((name) => isDerived(name) && box.random(3) === 0)
}

const WHILE_OPEN = {
  stop: async (box, child) => {
    child.kill('SIGSTOP')
    await sleep(box.random(200))
    child.kill('SIGCONT')
  },
  'stop and move': async (box, child) => {
    child.kill('SIGSTOP')
    move(box)
    await sleep(box.random(50))
    child.kill('SIGCONT')
    return 'moved'
  },
  move: async (box) => {
    move(box)
    return 'moved'
  },
  'move away and back': async (box) => {
    const { folder } = box
    move(box)
    await sleep(box.random(20))
    if (fs.existsSync(folder)) return 'moved'
    fs.renameSync(box.folder, folder)
    box.folder = folder
    return 'moved'
  },
  'move, and restore': async (box) => {
    if (box.backup === null) return ''
    // The process goes on in the old folder. Nothing of that is in the other one.
    fs.renameSync(box.folder, `${box.folder}-away-${++box.moves}`)
    restoreAll(box)
    box.isLeft = true
    return 'moved'
  },
  copy: async (box) => copyBusy(box.folder, path.join(box.root, `copy-${++box.copies}`)),
  'copy slowly': async (box, child) => {
    const to = path.join(box.root, `copy-${++box.copies}`)
    fs.mkdirSync(to)
    const names = fs.readdirSync(box.folder)
    for (const name of box.random(2) === 0 ? names : names.reverse()) {
      const from = path.join(box.folder, name)
      try {
        if (fs.statSync(from).isDirectory()) copyBusy(from, path.join(to, name))
        else fs.copyFileSync(from, path.join(to, name))
      } catch {}
      await sleep(box.random(10))
    }
  },
  'remove the lock': async (box) => {
    box.isLockGone = true
    const isOfLock = (file) => /\.lock$|\/writer$/.test(file)
    for (const file of filesIn(box.folder).filter(isOfLock)) if (box.random(2) === 0) fs.rmSync(file, { force: true })
  },
  touch: async (box) => touch(box),
  'remove what is derived': async (box) => {
    for (const name of chooseDerived(box)) fs.rmSync(name, { force: true })
  },
  truncate: async (box) => {
    if (box.random(6) > 0 || box.setting.isFolder) return
    const file = pathOf(box.folder, box.setting)
    if (!fs.existsSync(file)) return
    fs.truncateSync(file, 0)
    box.isTorn = box.wasChanged = true
    return 'moved'
  }
}

const AT_REST = {
  move,
  touch,
  'remove what is derived': (box) => { for (const name of chooseDerived(box)) fs.rmSync(name, { force: true }) },
  'empty what is derived': (box) => { for (const name of chooseDerived(box)) fs.truncateSync(name, 0) },
  copy: (box) => {
    box.backup ??= path.join(box.root, 'backup')
    fs.rmSync(box.backup, { recursive: true, force: true })
    copyAll(box.folder, box.backup)
    box.backupAcked = box.acked
  },
  'restore all': (box) => {
    if (box.backup === null) return
    fs.rmSync(box.folder, { recursive: true })
    restoreAll(box)
  },
  'restore the log': (box) => {
    if (box.backup === null) return
    for (const file of filesIn(box.folder)) if (isOfLog(file, box)) fs.rmSync(file)
    for (const file of filesIn(box.backup)) if (isOfLog(file, box)) putBack(box, file)
    restored(box)
  },
  'restore the text alone': (box) => {
    if (box.backup === null || box.setting.kind !== 'lines') return
    const file = pathOf(box.backup, box.setting)
    if (!fs.existsSync(file)) return
    putBack(box, file)
    restored(box)
    box.isChanged = box.wasChanged = true
  },
  'restore what is derived': (box) => {
    if (box.backup === null) return
    const isChosen = (file) => /\.view$|\.cursor$|\/times$|index\//.test(file) && box.random(2) === 0
    for (const file of filesIn(box.backup).filter(isChosen)) putBack(box, file)
  },
  'begin anew': (box) => {
    // Somebody removes the log, and leaves the rest.
    if (box.random(3) > 0) return
    for (const file of filesIn(box.folder)) if (isOfLog(file, box)) fs.rmSync(file)
    box.acked = -1
    box.held = null
  },
  'empty the log': (box) => {
    if (box.setting.isFolder || box.random(3) > 0) return
    const file = pathOf(box.folder, box.setting)
    if (!fs.existsSync(file)) return
    if (box.random(2) === 0) fs.truncateSync(file, 0)
    else {
      fs.rmSync(file)
      fs.writeFileSync(file, '')
    }
    box.acked = -1
    box.isChanged = box.wasChanged = true
  },
  'remove the sums': (box) => { for (const file of filesIn(box.folder)) if (file.endsWith('.sums') && box.random(2) === 0) fs.rmSync(file) },
  'remove the cursor': (box) => { for (const file of filesIn(box.folder)) if (file.endsWith('.cursor')) fs.rmSync(file) }
}

function isOfLog (file, { setting }) {
  const name = path.basename(file)
  return setting.isFolder ? /^\d{16}-/.test(name) : /^a\.(log|jsonl|offset)(\.sums)?$/.test(name)
}

exports.AT_REST = AT_REST
exports.WHILE_OPEN = WHILE_OPEN
exports.copyAll = copyAll
