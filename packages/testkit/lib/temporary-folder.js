'use strict'
// A fresh folder for one test, gone when the process ends.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

/** @type {string[]} */
const folders = []

/** @returns {string}  the folder's path */
function temporaryFolder () {
  // Before all others: tape's listener ends the process.
  if (folders.length === 0) process.prependListener('exit', removeAll)
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-'))
  folders.push(folder)
  return folder
}

function removeAll () {
  for (const folder of folders) {
    try {
      fs.rmSync(folder, { recursive: true, force: true })
    } catch {
      // Windows keeps files that are still open. The system clears its temporary folder in time.
    }
  }
}

exports.temporaryFolder = temporaryFolder
