'use strict'
// Where the time of a row goes: V8's own sampler, by package, and the functions that take most.

const fs = require('node:fs')
const path = require('node:path')
const { MeasureError, PROFILE_OPTION, SERVER_FOLDER } = require('../lib/run')
const { gridOfShares, toText } = require('./grids')
const { describe, eachStage } = require('./measure')

const TOP_COUNT = 5
const BENCH = path.join(__dirname, '..')
// Waiting, and what V8 cannot tell apart.
const NOT_COUNTED = /^\((?:root|idle|program)\)$/
const LOADING = /^node:internal\/modules\//

/** @typedef {{ functionName: string, url: string, lineNumber: number }} CallFrame */
/**
 * @typedef {{ nodes: Array<{ id: number, callFrame: CallFrame }>, samples: number[], timeDeltas: number[] }} Profile
 */
/** @typedef {{ name: string, share: number }} Share */

/**
 * Runs each row once, beside V8's sampler.
 * @param {any} options
 * @param {string} generated
 * @returns {Promise<{ text: string, profiles: Array<{ name: string, shares: Share[] }> }>}
 */
async function profileRows (options, generated) {
  /** @type {Array<{ case: string, packages: Share[], functions: Share[] }>} */
  const found = []
  await eachStage(options, generated, async ({ cases, run }) => {
    for (const one of cases) {
      const folder = fs.mkdtempSync(path.join(generated, 'profile-'))
      try {
        await run(one, { nodeArguments: ['--cpu-prof', `${PROFILE_OPTION}=${folder}`] })
        // What another process did, such as a server, is in a folder of its own: `toServerArguments`.
        for (const [place, who] of [[folder, ''], [path.join(folder, SERVER_FOLDER), ', its server']]) {
          const profiles = readProfiles(place)
          if (profiles.length === 0) continue
          const functions = shareOut(profiles, nameOf).slice(0, TOP_COUNT)
          found.push({ case: `${describe(one)}${who}`, packages: shareOut(profiles, packageOf), functions })
        }
      } finally {
        fs.rmSync(folder, { recursive: true, force: true })
      }
    }
  })
  if (found.length === 0) throw new MeasureError('nothing was profiled: none of these peers takes part in these rows')
  const texts = found.map(({ case: name, packages, functions }) => `${name}\n\n${toText(gridOfShares(packages, functions))}`)
  return { text: texts.join('\n\n'), profiles: found.map(({ case: name, packages: shares }) => ({ name, shares })) }
}

/** @param {string} folder @returns {Profile[]}  of the threads of a process */
function readProfiles (folder) {
  if (!fs.existsSync(folder)) return []
  const files = fs.readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'))
  return files.map((name) => JSON.parse(fs.readFileSync(path.join(folder, name), 'utf8')))
}

/**
 * Of all threads, the greatest first.
 * @type {(profiles: Profile[], describe: (frame: CallFrame) => string | undefined) => Share[]}
 */
function shareOut (profiles, describe) {
  /** @type {Map<string, number>} */
  const times = new Map()
  let all = 0
  for (const { nodes, samples, timeDeltas } of profiles) {
    const names = new Map(nodes.map(({ id, callFrame }) => [id, describe(callFrame)]))
    for (const [index, id] of samples.entries()) {
      const name = names.get(id)
      if (name === undefined) continue
      all += timeDeltas[index]
      times.set(name, (times.get(name) ?? 0) + timeDeltas[index])
    }
  }
  return [...times].sort(([, a], [, b]) => b - a).map(([name, time]) => ({ name, share: time / all }))
}

/** A name without folders, which are of this machine only. @param {CallFrame} frame */
function nameOf (frame) {
  const name = frame.functionName || '(anonymous)'
  if (NOT_COUNTED.test(name) || LOADING.test(frame.url)) return undefined
  return frame.url === '' ? name : `${name}, ${path.basename(frame.url)}:${frame.lineNumber + 1}`
}

/** The package that a function belongs to: the last one of its path. @param {CallFrame} frame */
function packageOf (frame) {
  if (nameOf(frame) === undefined) return undefined
  const { url, functionName } = frame
  if (functionName === '(garbage collector)') return 'garbage collection'
  if (url === '' || url.startsWith('node:')) return 'Node.js'
  const own = /\/packages\/([^/]+)\//.exec(url)?.[1]
  const [, other] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? []
  return other ?? own ?? (url.includes(BENCH) ? 'the bench' : 'others')
}

exports.profileRows = profileRows
exports.nameOf = nameOf
exports.shareOut = shareOut
exports.packageOf = packageOf
