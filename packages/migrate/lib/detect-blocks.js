'use strict'
// Tells which formats of blocks a file may have, by walking its first blocks as each of them.

const { trampoline } = require('@millrace/flow')
const { blockFormats } = require('./formats')

// Few enough to be quick; enough that chance, or one damaged block, does not decide.
const BLOCK_COUNT_MAX = 16
const SOUND_PER_FLAWED = 4

/**
 * @typedef {ReturnType<typeof import('@millrace/block-file').BlockFile>} BlockFile
 * @typedef {import('./block-walk').BlockWalk} BlockWalk
 * @typedef {keyof typeof blockFormats} BlockFormat
 */

/**
 * @param {BlockFile} blocks  open and not empty
 * @param {number} blockSize
 * @param {(err: Error | null, names?: BlockFormat[]) => void} cb  the formats that fit
 */
function detectBlocks (blocks, blockSize, cb) {
  const fileSize = blocks.size.value
  const stop = Math.min(fileSize, BLOCK_COUNT_MAX * blockSize)
  /** @type {Record<BlockFormat, BlockWalk[]>} */
  const walks = { 'flumelog-aligned-offset': [], 'async-append-only-log': [] }
  const names = /** @type {BlockFormat[]} */ (Object.keys(blockFormats))
  let position = 0
  trampoline((next) => {
    if (position >= stop) return cb(null, names.filter((name) => tests[name](walks[name], fileSize, blockSize)))
    const block = Buffer.allocUnsafe(Math.min(blockSize, fileSize - position))
    blocks.readInto(block, position, (err) => {
      if (err) return cb(err)
      for (const name of names) walks[name].push(blockFormats[name](block, blockSize))
      position += block.length
      next()
    })
  })
}

/** @type {Record<BlockFormat, (walks: BlockWalk[], fileSize: number, blockSize: number) => boolean>} */
const tests = {
  // Two sizes that agree are good evidence; a single frame must also end where the file or the block does.
  'flumelog-aligned-offset': (walks) => {
    const isCutOff = walks.some(({ torn }) => torn !== null)
    const frameCount = walks.reduce((sum, walk) => sum + walk.frameCount, 0)
    return isMostlySound(walks) && frameCount >= (isCutOff ? 2 : 1)
  },
  // A chain of sizes that ends in zeros may be chance, in a file with many zeros. Files of whole blocks are rare, and
  // so is a second such chain.
  'async-append-only-log': (walks, fileSize, blockSize) => {
    const whole = walks.filter(({ torn }) => torn === null)
    const soundCount = whole.filter(isSound).length
    return isMostlySound(whole) && soundCount >= (fileSize % blockSize === 0 ? 1 : 2)
  }
}

/** @param {BlockWalk[]} walks */
function isMostlySound (walks) {
  const flawedCount = walks.filter(({ flaw }) => flaw !== null).length
  return walks.filter(isSound).length >= SOUND_PER_FLAWED * flawedCount
}

/** @param {BlockWalk} walk */
function isSound ({ flaw, frameCount }) {
  return flaw === null && frameCount > 0
}

exports.detectBlocks = detectBlocks
