'use strict'
// What a snapshot or a repair has written when it is interrupted. The next one would remove it, but there may be none.

const fs = require('node:fs')
const path = require('node:path')

/** @param {string} target  that was to be made */
function removeUnfinished (target) {
  const folder = path.dirname(target)
  const name = path.basename(target)
  for (const entry of fs.readdirSync(folder)) {
    const rest = entry.startsWith(name) ? entry.slice(name.length) : ''
    if (/^\.[0-9a-f]{16}\.new$/.test(rest)) fs.rmSync(path.join(folder, entry), { force: true })
  }
}

exports.removeUnfinished = removeUnfinished
