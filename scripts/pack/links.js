'use strict'
// Links of READMEs and documents, as they are packed: in the repository they lead to files beside them, of which a
// package has only its own.

const path = require('node:path').posix

// Nothing in code is a link.
const CODE = /(^```[\s\S]*?^```$|`[^`\n]*`)/m
const LINK = /(!?)\[([^\]]*)\]\(([^)\s]+)\)/g
const OUTSIDE = /^(?:[a-z]+:|#)/
const NPM = 'https://www.npmjs.com/package'
const FILES = `${NPM}/millrace?activeTab=code`

/**
 * What is known of where a reader finds the rest.
 * @typedef {object} Edition
 * @property {string | null} address  of the repository; null while it has none
 * @property {string} version  of the packages; the repository has a tag for it
 * @property {(file: string) => string | null} travelsAs  where a file of the repository is in this package; null if it
 *   is not
 */

/**
 * @param {string} markdown
 * @param {string} file  its path in the repository
 * @param {Edition} edition
 * @returns {string}
 */
function rewriteLinks (markdown, file, edition) {
  // Not split at code: a text that is a link may hold some.
  const codes = /** @type {string[]} */ ([])
  const hidden = markdown.replace(new RegExp(CODE, 'gm'), (code) => `\u0000${codes.push(code) - 1}\u0000`)
  const rewritten = hidden.replace(LINK, (link, mark, text, target) => {
    return OUTSIDE.test(target) ? link : writeLink({ mark, text, target }, file, edition)
  })
  // eslint-disable-next-line no-control-regex
  return rewritten.replace(/\u0000(\d+)\u0000/g, (_, index) => codes[index])
}

/**
 * @param {{ mark: string, text: string, target: string }} link
 * @param {string} file
 * @param {Edition} edition
 */
function writeLink ({ mark, text, target }, file, edition) {
  const [relative, hash] = target.split('#')
  const found = path.join(path.dirname(file), relative)
  const address = addressOf(found, file, mark === '!', edition)
  if (address === FILES) return `${mark}[${text}](${FILES})`
  if (address) return `${mark}[${text}](${address}${hash ? `#${hash}` : ''})`
  // Of a picture that is not there nothing is left.
  return mark ? '' : text
}

/**
 * @param {string} target  a path in the repository
 * @param {string} file
 * @param {boolean} isImage
 * @param {Edition} edition
 * @returns {string | null}  null if nobody could open it
 */
function addressOf (target, file, isImage, { address, version, travelsAs }) {
  const [at, from] = [travelsAs(target), travelsAs(file)]
  if (at !== null) return path.relative(path.dirname(from ?? ''), at)
  if (address) {
    const kind = isImage ? 'raw' : path.extname(target) ? 'blob' : 'tree'
    return `${address}/${kind}/v${version}/${target}`
  }
  const [, name] = target.match(/^packages\/([^/]+)(?:\/README\.md)?$/) ?? []
  if (name) return `${NPM}/${name === 'millrace' ? name : `@millrace/${name}`}`
  if (target === 'README.md') return `${NPM}/millrace`
  // The documents travel with that package, and npm shows its files.
  if (target.startsWith('docs/')) return FILES
  return null
}

/**
 * @param {string} markdown
 * @returns {string[]}  what it links to, outside of code
 */
function linksOf (markdown) {
  const text = markdown.replace(new RegExp(CODE, 'gm'), '')
  return [...text.matchAll(LINK)].map((match) => match[3])
}

exports.rewriteLinks = rewriteLinks
exports.linksOf = linksOf
