'use strict'
// The files of an index beside a log that was opened without it: nothing keeps them up to date.

const path = require('node:path')
const { promisesOf } = require('@millrace/flow')

const INDEX_FILE = /\.run(\.new)?$/
const MISSING = ['ENOENT', 'ENOTDIR']

/**
 * Removes them, because they may have values of records that are deleted. Whoever opens the log with the index again
 * has it built again.
 * @param {import('@millrace/block-file').Storage} storage
 * @param {string} folder  `<log>.index`
 */
async function removeIndexFiles (storage, folder) {
  if (storage.listFolder === undefined) return
  const { listFolder, unlink, syncFolder } = promisesOf(storage)
  const names = await listFolder(folder).catch((err) => {
    if (MISSING.includes(err.code)) return []
    throw err
  })
  const files = names.filter((/** @type {string} */ name) => INDEX_FILE.test(name))
  for (const name of files) {
    await unlink(path.join(folder, name)).catch((err) => {
      if (!MISSING.includes(err.code)) throw err
    })
  }
  if (files.length > 0) await syncFolder(folder)
}

exports.removeIndexFiles = removeIndexFiles
