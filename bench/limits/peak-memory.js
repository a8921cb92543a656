'use strict'
// The most memory that this process has had resident so far. Run by itself it prints what bare Node takes.

const fs = require('node:fs')

const KIB = 1024
// `resourceUsage` is no lower than the peak of the process that started this one: so Linux itself is asked.
const STATUS = '/proc/self/status'

/** @returns {number}  bytes */
function peakMemory () {
  if (!fs.existsSync(STATUS)) return process.resourceUsage().maxRSS * KIB
  const [, size] = /^VmHWM:\s+(\d+) kB$/m.exec(fs.readFileSync(STATUS, 'utf8')) ?? []
  return Number(size) * KIB
}

if (require.main === module) console.log(peakMemory())

exports.peakMemory = peakMemory
