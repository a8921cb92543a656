'use strict'
// Headings of Markdown pages, and the anchors that GitHub gives them. The site gives the same ones.

/** @param {string} heading  as it is written @returns {string} */
function slugOf (heading) {
  const text = heading.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[*`]/g, '').replace(/&lt;/g, '<')
  return text.trim().toLowerCase().replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '').replace(/ /g, '-')
}

/** @param {string} markdown @returns {string}  the page without its blocks of code */
function withoutCode (markdown) {
  return markdown.replace(/^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?\n\1\2`*~* *$/gm, '')
}

/** @param {string} markdown @returns {Set<string>}  of its headings, and of elements with an id */
function anchorsOf (markdown) {
  const plain = withoutCode(markdown)
  const anchors = new Set([...plain.matchAll(/<\w+ (?:[^>]* )?id="([^"]+)"/g)].map(([, id]) => id))
  for (const [, heading] of plain.matchAll(/^ {0,3}#{1,6} +(.+?)(?: +#+)? *$/gm)) {
    const slug = slugOf(heading)
    let anchor = slug
    // The second heading of the same text gets a number.
    for (let count = 1; anchors.has(anchor); count++) anchor = `${slug}-${count}`
    anchors.add(anchor)
  }
  return anchors
}

exports.slugOf = slugOf
exports.withoutCode = withoutCode
exports.anchorsOf = anchorsOf
