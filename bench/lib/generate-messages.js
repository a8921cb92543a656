'use strict'
// Messages in the shape of Secure Scuttlebutt, the same ones for the same seed, for ever. Change anything here that
// changes a byte and GENERATOR_VERSION must rise: it is part of the name of the generated log.

const { createPrng } = require('./prng')
const { createContent } = require('./generate-content')

const GENERATOR_VERSION = 1
const DEFAULT_SEED = 343
const FIRST_TIMESTAMP = 1436000000000
const AUTHORS = 4000

/** @typedef {import('./prng').Prng} Prng */

/**
 * @typedef {object} Message
 * @property {string} key
 * @property {{ previous: string | null, sequence: number, author: string, timestamp: number, hash: string,
 *   content: object | string, signature: string }} value
 * @property {number} timestamp  when it was received
 */

/**
 * @typedef {object} Author
 * @property {string} id
 * @property {number} sequence
 * @property {string | null} previous
 */

/**
 * @param {number} seed
 * @returns {{ next: () => Message, query: string }}  `query` is what one in a thousand has as `value.content.root`
 */
function createMessages (seed) {
  const prng = createPrng(seed)
  const query = createKey(prng)
  const content = createContent(prng, query)
  /** @type {Author[]} */
  const authors = []
  let timestamp = FIRST_TIMESTAMP
  let count = 0

  /** @returns {Message} */
  function next () {
    const author = pickAuthor(prng, authors)
    // The first message is the post that the query asks the replies of.
    const key = count++ === 0 ? query : createKey(prng)
    timestamp += 1 + prng.below(500000)
    /** @type {Message} */
    const message = {
      key,
      value: {
        previous: author.previous,
        sequence: ++author.sequence,
        author: author.id,
        timestamp,
        hash: 'sha256',
        content: count === 1 ? content.createPost() : content.create(author.id),
        signature: `${prng.base64(64)}.sig.ed25519`
      },
      // Two messages received in the same millisecond are told apart by a fraction, so many clocks are not integers.
      timestamp: timestamp + prng.below(90000) + (prng.chance(0.4) ? (1 + prng.below(9)) / 1000 : 0)
    }
    author.previous = key
    content.remember(key, author.id)
    return message
  }

  return { next, query }
}

/**
 * A few people write most of it: the square of a fraction favours the ones who came first.
 * @param {Prng} prng
 * @param {Author[]} authors  grows
 * @returns {Author}
 */
function pickAuthor (prng, authors) {
  if (authors.length < 10 || (authors.length < AUTHORS && prng.chance(0.02))) {
    authors.push({ id: `@${prng.base64(32)}.ed25519`, sequence: 0, previous: null })
    return authors[authors.length - 1]
  }
  return authors[Math.floor(prng.fraction() * prng.fraction() * authors.length)]
}

/** @param {Prng} prng */
function createKey (prng) {
  return `%${prng.base64(32)}.sha256`
}

exports.createMessages = createMessages
exports.DEFAULT_SEED = DEFAULT_SEED
exports.GENERATOR_VERSION = GENERATOR_VERSION
