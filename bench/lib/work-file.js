'use strict'
// Files appear under their name only when they are whole: written under another name first, renamed at the end.

const fs = require('node:fs')
const path = require('node:path')

/** @type {Set<string>} */
const unfinished = new Set()
process.once('exit', removeUnfinished)

/**
 * @template T
 * @param {string[]} files  where they will be
 * @param {(drafts: string[]) => Promise<T>} write  writes each file under the name it is given
 * @returns {Promise<T>}
 */
async function writeWhole (files, write) {
  const drafts = files.map((file) => `${file}.${process.pid}.partial`)
  for (const [index, draft] of drafts.entries()) {
    fs.mkdirSync(path.dirname(files[index]), { recursive: true })
    unfinished.add(draft)
  }
  try {
    const result = await write(drafts)
    for (const [index, draft] of drafts.entries()) fs.renameSync(draft, files[index])
    return result
  } finally {
    for (const draft of drafts) {
      fs.rmSync(draft, { force: true })
      unfinished.delete(draft)
    }
  }
}

/** At the end of the process, however it ends: half a log of this size is not worth its room on the disk. */
function removeUnfinished () {
  for (const draft of unfinished) fs.rmSync(draft, { force: true })
}

exports.writeWhole = writeWhole
