'use strict'
// A copy of the packages' shipping source with patches applied, which is required like the original.

const fs = require('node:fs')
const path = require('node:path')

const ROOT = path.join(__dirname, '..', '..')
const SHIPPED = ['lib', 'index.js', 'composing.js', 'survey.js', 'copies.js', 'package.json']

/**
 * @typedef {object} Patch
 * @property {string} file  from the root of the house
 * @property {string} find  must occur in it exactly once
 * @property {string} replace
 */

/**
 * @param {string} folder  to be made
 * @param {Patch[]} patches
 * @returns {string}  the path of its offset-log
 */
function copySource (folder, patches) {
  const packages = fs.readdirSync(path.join(ROOT, 'packages'))
  const scope = path.join(folder, 'node_modules', '@millrace')
  fs.mkdirSync(scope, { recursive: true })
  for (const name of packages) {
    const to = path.join(folder, 'packages', name)
    for (const part of SHIPPED) {
      const from = path.join(ROOT, 'packages', name, part)
      if (fs.existsSync(from)) fs.cpSync(from, path.join(to, part), { recursive: true })
    }
    fs.symlinkSync(to, path.join(scope, name), 'junction')
  }
  linkOthers(path.dirname(folder))
  for (const [file, text] of applyPatches(patches)) fs.writeFileSync(path.join(folder, file), text)
  return path.join(folder, 'packages', 'offset-log')
}

/**
 * What is not of the house is found one folder up, where it cannot hide the copies.
 * @param {string} folder
 */
function linkOthers (folder) {
  const link = path.join(folder, 'node_modules')
  if (!fs.existsSync(link)) fs.symlinkSync(path.join(ROOT, 'node_modules'), link, 'junction')
}

/**
 * @param {Patch[]} patches  to the source as it is now
 * @returns {Map<string, string>}  the patched files
 * @throws when a patch does not apply, or not to one place only
 */
function applyPatches (patches) {
  const files = new Map()
  for (const { file, find, replace } of patches) {
    const at = path.join(ROOT, file)
    if (!fs.existsSync(at)) throw new Error(`there is no ${file}`)
    const parts = (files.get(file) ?? fs.readFileSync(at, 'utf8')).split(find)
    if (parts.length !== 2) throw new Error(`found ${parts.length - 1} times in ${file}, not once: ${find}`)
    if (find === replace) throw new Error(`changes nothing in ${file}: ${find}`)
    files.set(file, parts.join(replace))
  }
  return files
}

exports.copySource = copySource
exports.applyPatches = applyPatches
