'use strict'
// Lines of code: those with a token of JavaScript, so without comments and blank lines. Usage: node
// scripts/count-code.js [folder or file ...]; tests and the lab are left out, unless they are named.

const { execFileSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const acorn = require('acorn')

const ROOT = path.join(__dirname, '..')
const TEST = /(^|\/)test\/|^lab\//

/**
 * @param {string} text
 * @param {boolean} isModule
 * @returns {number}
 */
function countLines (text, isModule) {
  const lines = new Set()
  const options = { ecmaVersion: 'latest', sourceType: isModule ? 'module' : 'script', locations: true, allowHashBang: true }
  for (const { loc } of acorn.tokenizer(text, /** @type {acorn.Options} */ (options))) {
    // A text of several lines is a token of several lines.
    for (let line = Number(loc?.start.line); line <= Number(loc?.end.line); line++) lines.add(line)
  }
  return lines.size
}

/**
 * @param {string[]} places  from the root of the repository; all of it by default
 * @returns {Array<{ file: string, lines: number }>}  of the files that git knows
 */
function countCode (places = []) {
  const files = execFileSync('git', ['ls-files', '--', ...places], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n')
  const wantsTests = places.some((place) => TEST.test(`${place}/`))
  return files.filter((file) => /\.m?js$/.test(file) && (wantsTests || !TEST.test(file))).map((file) => {
    return { file, lines: countLines(fs.readFileSync(path.join(ROOT, file), 'utf8'), file.endsWith('.mjs')) }
  })
}

if (require.main === module) {
  /** @type {Map<string, number>} */
  const folders = new Map()
  for (const { file, lines } of countCode(process.argv.slice(2))) {
    const folder = path.dirname(file)
    folders.set(folder, (folders.get(folder) ?? 0) + lines)
  }
  for (const [folder, lines] of folders) console.log(`${String(lines).padStart(6)}  ${folder}`)
  console.log(`${String([...folders.values()].reduce((sum, lines) => sum + lines, 0)).padStart(6)}  all`)
}

exports.countCode = countCode
exports.countLines = countLines
