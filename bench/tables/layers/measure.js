'use strict'
// How a stack reads a log in one layer, and that all stacks deliver the same. What is slow at small blocks reads the
// first 64 MiB only, once, and its time is worked out for the whole log.

const fs = require('node:fs')
const { findLog, openInputs } = require('../../engine/inputs')
const { Tally, takeSamples, time } = require('../../lib/measure')

/** @typedef {import('./stacks').Stack} Stack */
/** @typedef {import('./rows').Layer} Layer */
/** @typedef {{ paths: Record<string, string>, prefix?: string, query: string }} Setting  `paths`: by framing */

/**
 * @param {import('../../engine/row').Context} context
 * @param {Layer} layer
 * @returns {Promise<Setting & { answers: Record<string, import('../../engine/row').Answer> }>}
 */
async function prepareLayer (context, layer) {
  const { source, inputs } = await openInputs(context)
  const { peers, blockSizes } = context.options
  /** @type {Record<string, string>} */
  const paths = {}
  for (const { framing } of peers) {
    if (framing !== 'lines' || layer.log === 'json') paths[framing] ??= await findLog(context, { log: layer.log, framing })
  }
  const { query } = source
  /** @type {number[]} */
  const slow = blockSizes.filter((/** @type {number} */ at) => {
    return peers.some((/** @type {Stack} */ stack) => isSlow(stack, at))
  })
  if (!inputs.isLong(layer.log) || slow.length === 0) return { paths, query, answers: {} }
  const prefix = await findLog(context, { log: layer.log, framing: 'offset32', prefix: true })
  // Who only reads the prefix has nobody to agree with: so ours reads it, too.
  const [witness] = require('./stacks').parts.filter((/** @type {Stack} */ { name }) => name === 'offset32')
  const answers = []
  for (const at of layer.perBlockSize ? slow : slow.slice(0, 1)) {
    const { tally } = await readLayer(witness, layer, prefix, { at, query })
    answers.push(answersOf(witness, layer, at, true, tally.result()))
  }
  return { paths, prefix, query, answers: Object.assign({}, ...answers) }
}

/**
 * The clock runs from the first read to the last item. Opening (and whatever a stack checks then) is over before.
 * @param {Stack} stack
 * @param {Layer} layer
 * @param {string} path
 * @param {{ at: number, query: string, samples?: number }} options  `samples`: after the first
 */
async function readLayer (stack, layer, path, { at, query, samples = 0 }) {
  let tally = new Tally(layer)
  const reader = await stack.primitives[layer.primitive](path, { blockSize: at, query })
  const { value: ms } = await takeSamples(samples, () => {
    tally = new Tally(layer)
    return time(() => reader.run(tally.visit.bind(tally)))
  })
  // Node gives kibibytes. Taken before the digest is worked out, which is the harness's and not the stack's.
  const peakMemory = process.resourceUsage().maxRSS * 1024
  await reader.close()
  return { ms, tally, peakMemory }
}

/** In the child. @type {(order: any) => Promise<import('../../engine/row').Reading>} */
async function measureLayer ({ row: layer, peer: stack, at, setting, samples }) {
  const isPrefix = readsPrefix({ peer: stack, at, setting })
  const whole = setting.paths[stack.framing]
  const path = isPrefix ? setting.prefix : whole
  const { ms, tally, peakMemory } = await readLayer(stack, layer, path, { at, query: setting.query, samples })
  const { records, ...result } = tally.result()
  const bytes = fs.statSync(path).size
  return {
    figures: {
      ms: ms * fs.statSync(whole).size / bytes, records, bytes, peak_memory: peakMemory, ...isPrefix && { scaled: 1 }
    },
    answers: answersOf(stack, layer, at, isPrefix, { records, ...result })
  }
}

/**
 * Records and what is in them are the same in every framing; where they lie is not, and neither are the file's bytes.
 * @type {(stack: Stack, layer: Layer, at: number, isPrefix: boolean, result: import('../../lib/measure').TallyResult)
 *   => Record<string, import('../../engine/row').Answer>}
 */
function answersOf ({ framing }, { delivers, perBlockSize }, at, isPrefix, result) {
  const { records, delivered, digest, seqSum, seqDigest } = result
  const part = [...perBlockSize ? [`at ${at}`] : [], isPrefix ? 'the first 64 MiB' : 'the whole log'].join(', ')
  const own = `${part}, ${framing}`
  const places = { seqSum, seqDigest }
  if (delivers === 'file' || isPrefix) return { [own]: { records, delivered, digest, ...places } }
  return { [part]: { records, delivered, digest }, [own]: places }
}

/** @param {{ peer: any, at?: number, setting?: Setting }} one */
function readsPrefix ({ peer, at, setting }) {
  return setting?.prefix !== undefined && isSlow(peer, at)
}

/** @type {(stack: { slowUpTo?: number }, at?: number) => boolean} */
function isSlow ({ slowUpTo = 0 }, at = Infinity) {
  return at <= slowUpTo
}

exports.prepareLayer = prepareLayer
exports.measureLayer = measureLayer
exports.answersOf = answersOf
exports.isSlow = isSlow
exports.readsPrefix = readsPrefix
