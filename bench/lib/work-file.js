'use strict'
// Files appear under their name only when they are whole: written under another name first, renamed at the end. And
// folders that are gone when they have been used. What a killed process leaves of either is cleared by a later one.

const fs = require('node:fs')
const path = require('node:path')

// A log has files beside it that are named after it, such as its lock.
const UNFINISHED = /\.(\d+)\.partial(\.|$)/

/** Of this process. @type {Set<string>} */
const unfinished = new Set()
process.once('exit', () => {
  // However the process ends: half a log of this size is not worth its room on the disk.
  for (const draft of unfinished) remove(draft)
})

/**
 * @template T
 * @param {string[]} files  where they will be
 * @param {(drafts: string[]) => Promise<T>} write  writes each file under the name it is given
 * @returns {Promise<T>}
 */
async function writeWhole (files, write) {
  const drafts = files.map(begin)
  try {
    const result = await write(drafts)
    for (const [index, draft] of drafts.entries()) fs.renameSync(draft, files[index])
    return result
  } finally {
    drafts.forEach(remove)
  }
}

/**
 * @template T
 * @param {string} parent
 * @param {string} name
 * @param {(folder: string) => Promise<T>} use  a fresh folder, gone afterwards
 * @returns {Promise<T>}
 */
async function withFolder (parent, name, use) {
  const { folder, release } = makeFolder(parent, name)
  try {
    return await use(folder)
  } finally {
    release()
  }
}

/**
 * @param {string} parent
 * @param {string} name
 * @returns {{ folder: string, release: () => void }}  a fresh folder, gone at the end of the process at the latest
 */
function makeFolder (parent, name) {
  const folder = begin(path.join(parent, name))
  fs.mkdirSync(folder)
  return { folder, release: () => remove(folder) }
}

/**
 * What the kernel has yet to write would be written while others are measured.
 * @param {string} file
 */
function syncFile (file) {
  const fd = fs.openSync(file, 'r+')
  fs.fsyncSync(fd)
  fs.closeSync(fd)
}

/**
 * @param {string} file
 * @returns {string}  what it is called until it is whole: nothing of that name is there
 */
function begin (file) {
  const folder = path.dirname(file)
  fs.mkdirSync(folder, { recursive: true })
  clear(folder, (name) => isLeft(path.join(folder, name)))
  const draft = `${file}.${process.pid}.partial`
  unfinished.add(draft)
  return draft
}

/**
 * Whether nobody is at work on it. A name with the number of this process may be another one's, which is dead: in a
 * container numbers come again soon.
 * @param {string} file
 */
function isLeft (file) {
  const pid = Number(UNFINISHED.exec(path.basename(file))?.[1])
  if (pid === process.pid) return ![...unfinished].some((draft) => file.startsWith(draft))
  try {
    return pid > 0 && !process.kill(pid, 0)
  } catch (err) {
    return /** @type {NodeJS.ErrnoException} */ (err).code === 'ESRCH'
  }
}

/** @param {string} draft */
function remove (draft) {
  const [folder, own] = [path.dirname(draft), path.basename(draft)]
  if (fs.existsSync(folder)) clear(folder, (name) => name === own || name.startsWith(`${own}.`))
  unfinished.delete(draft)
}

/**
 * @param {string} folder
 * @param {(name: string) => boolean} isGone
 */
function clear (folder, isGone) {
  for (const name of fs.readdirSync(folder).filter(isGone)) {
    // Retried, since a child that is being ended may still be writing there.
    fs.rmSync(path.join(folder, name), { recursive: true, force: true, maxRetries: 3 })
  }
}

exports.writeWhole = writeWhole
exports.withFolder = withFolder
exports.makeFolder = makeFolder
exports.syncFile = syncFile
