'use strict'
// What a path means: relative ones at the time when they are given, and symlinks followed to where a file is, or would
// be made.

const fs = require('node:fs')
const path = require('node:path')

/**
 * Changes no other part of the path: what `..` leads to is known only once the links before it are followed.
 * @param {string} filePath
 * @returns {string}  absolute
 */
function toAbsolute (filePath) {
  if (path.isAbsolute(filePath)) return filePath
  try {
    if (process.platform !== 'win32') return path.posix.join(process.cwd(), '/') + filePath
    return path.resolve(filePath) + (/[/\\]$/.test(filePath) ? path.sep : '')
  } catch {
    // The working folder was removed: opening the file will say so.
    return filePath
  }
}

/**
 * @param {string} filePath
 * @param {(err: Error | null, realPath?: string) => void} cb
 */
function findRealPath (filePath, cb) {
  fs.realpath.native(filePath, (err, realPath) => {
    if (!err) return cb(null, realPath)
    // With a slash at its end it is meant to be a folder, and no file can be made there.
    if (err.code !== 'ENOENT' || /[/\\]$/.test(filePath)) return cb(err)
    const given = path.resolve(filePath)
    findRealPath(path.dirname(given), (err, folder = '') => {
      if (err) return cb(err)
      const name = path.join(folder, path.basename(given))
      fs.readlink(name, (err, target) => {
        // It is no link, or it is there now: then opening it tells what is wrong with it.
        if (err) cb(null, name)
        else findRealPath(path.resolve(folder, target), cb)
      })
    })
  })
}

exports.findRealPath = findRealPath
exports.toAbsolute = toAbsolute
