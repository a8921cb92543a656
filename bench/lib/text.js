'use strict'
// Text as people write it: sentences of words, now and then in another script, with links, quotes and line breaks. Its
// words are mostly English; the rest bring characters of two, three and four bytes, since a log of pure ASCII flatters
// every codec. Only + - * / are used, since these alone give the same bits on every machine: Math.log and Math.pow
// need not.

const words = require('./words.json')

/** @typedef {import('./prng').Prng} Prng */

/**
 * A count that is mostly small and sometimes large: a Pareto tail, cut off.
 * @param {Prng} prng
 * @param {number} typical  about half of all counts are below it
 * @param {number} max
 */
function skewed (prng, typical, max) {
  const tail = typical / (prng.fraction() + 0.02) - typical * 0.9
  return Math.min(max, Math.max(1, Math.floor(tail * (0.35 + 0.35 * prng.fraction()))))
}

/**
 * @param {Prng} prng
 * @param {number} count  of words
 * @returns {string}
 */
function writeText (prng, count) {
  const vocabulary = prng.chance(0.09) ? prng.pick(words.others) : words.english
  let text = ''
  for (let left = count; left > 0;) {
    const length = Math.min(left, 3 + prng.below(14))
    text += writeSentence(prng, vocabulary, length)
    left -= length
    if (left > 0) text += prng.chance(0.15) ? '\n\n' : ' '
  }
  return prng.chance(0.06) ? `${text} ${prng.pick(words.emoji)}` : text
}

/**
 * @param {Prng} prng
 * @param {ReadonlyArray<string>} vocabulary
 * @param {number} length  in words
 */
function writeSentence (prng, vocabulary, length) {
  const first = prng.pick(vocabulary)
  let sentence = first[0].toUpperCase() + first.slice(1)
  for (let i = 1; i < length; i++) {
    const word = prng.pick(vocabulary)
    if (i > 1 && prng.chance(0.06)) sentence += ','
    sentence += prng.chance(0.01) ? ` "${word}"` : ` ${word}`
  }
  return sentence + prng.pick(['.', '.', '.', '.', '!', '?', ':)'])
}

/**
 * @param {Prng} prng
 * @param {number} count  of words
 * @returns {string}  a name or a title: no sentence
 */
function writeName (prng, count) {
  const vocabulary = prng.chance(0.09) ? prng.pick(words.others) : words.english
  return Array.from({ length: count }, () => prng.pick(vocabulary)).join(' ')
}

exports.channels = words.channels
exports.skewed = skewed
exports.writeText = writeText
exports.writeName = writeName
