'use strict'
// Two closer looks: which functions take the time at a row, and how the figures differ from those of an earlier run.

const fs = require('node:fs')
const path = require('node:path')
const { runCells } = require('./cells')
const { MeasureError } = require('./run')

const TOP_COUNT = 5
// Waiting, what V8 cannot tell apart, and the loading of modules.
const NOT_COUNTED = /^\((?:root|idle|program)\)$|, (?:loader|realm|node):\d+$/

/** @typedef {import('./tables').Peer} Peer */
/** @typedef {import('./tables').Row} Row */
/** @typedef {{ functionName: string, url: string, lineNumber: number }} CallFrame */
/** @typedef {{ id: number, callFrame: CallFrame }} ProfileNode */
/** @typedef {{ nodes: ProfileNode[], samples: number[], timeDeltas: number[] }} Profile */

/**
 * Runs each row once under V8's profiler.
 * @param {Row[]} rows
 * @param {Peer[]} peers
 * @param {string} folder  for the profiles
 * @param {string} works  the module whose `measure` does the work of a row
 * @returns {Promise<string>}  a Markdown table
 */
async function profileRows (rows, peers, folder, works) {
  const lines = []
  for (const row of rows) {
    for (const peer of peers.filter(({ name, measure }) => row.peers[name] && measure === undefined)) {
      const profiles = fs.mkdtempSync(path.join(folder, 'profile-'))
      const args = ['--cpu-prof', `--cpu-prof-dir=${profiles}`]
      const [cell] = await runCells({ rows: [row], runs: 1, budgetMs: Infinity }, [peer], folder, works, args)
      if (cell.absent !== undefined) continue
      const read = (/** @type {string} */ name) => JSON.parse(fs.readFileSync(path.join(profiles, name), 'utf8'))
      const tops = topOf(fs.readdirSync(profiles).map(read))
      lines.push(...tops.map(({ name, share }, index) => {
        const place = index === 0 ? [`\`${row.name}\``, peer.label] : ['', '']
        return [...place, name, `${(100 * share).toFixed(1)}%`]
      }))
      fs.rmSync(profiles, { recursive: true })
    }
  }
  if (lines.length === 0) throw new MeasureError('nothing was profiled: none of these peers takes part in these rows')
  const heads = ['row', 'peer', 'function', 'of the busy time']
  return [heads, ['---', '---', '---', '--:'], ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n')
}

/** @type {(profiles: Profile[]) => Array<{ name: string, share: number }>} of all threads */
function topOf (profiles) {
  /** @type {Map<string, number>} */
  const times = new Map()
  let all = 0
  for (const { nodes, samples, timeDeltas } of profiles) {
    const nameOf = new Map(nodes.map(({ id, callFrame }) => [id, describe(callFrame)]))
    for (const [index, id] of samples.entries()) {
      const name = nameOf.get(id) ?? ''
      if (NOT_COUNTED.test(name)) continue
      all += timeDeltas[index]
      times.set(name, (times.get(name) ?? 0) + timeDeltas[index])
    }
  }
  const sorted = [...times].sort(([, a], [, b]) => b - a).slice(0, TOP_COUNT)
  return sorted.map(([name, time]) => ({ name, share: time / all }))
}

/** Without the folders, which are of this machine only. @param {CallFrame} frame */
function describe ({ functionName, url, lineNumber }) {
  const name = functionName || '(anonymous)'
  return url === '' ? name : `${name}, ${path.basename(url)}:${lineNumber + 1}`
}

/**
 * @param {import('./tables').Results} results
 * @param {import('./tables').Results} earlier
 * @param {Row[]} rows
 * @param {Peer[]} peers
 * @returns {string}  a Markdown table: each figure as a multiple of the earlier one, with the peers' in the same runs
 */
function compareRuns (results, earlier, rows, peers) {
  const names = new Set(results.measured.filter(({ values }) => values.length > 0).map(({ peer }) => peer))
  const shown = peers.filter(({ name }) => names.has(name))
  const lines = rows.flatMap((row) => row.lines.map((line) => {
    const ratios = shown.map(({ name }) => {
      const [now, then] = [results, earlier].map((one) => one.of(row.name, line.figure, name))
      return now === undefined || then === undefined ? '' : (now / then).toFixed(2)
    })
    return [`\`${row.name}\`: ${line.what}`, ...ratios]
  })).filter(([, ...ratios]) => ratios.some((text) => text !== ''))
  if (lines.length === 0) return 'No figure is in both runs.'
  const heads = ['this run / the earlier one', ...shown.map(({ label }) => label)]
  const rule = heads.map((_, index) => index > 0 ? '--:' : '---')
  return [heads, rule, ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n')
}

exports.compareRuns = compareRuns
exports.profileRows = profileRows
exports.topOf = topOf
