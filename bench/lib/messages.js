'use strict'
// Messages in the shape of Secure Scuttlebutt, the same ones for the same seed, for ever: posts and replies, votes,
// follows, names, private mail and a few rarer types, in the proportions of a real network more or less, and with
// fields that come and go. Change anything here that changes a byte and GENERATOR_VERSION must rise: it is part of the
// name of the generated log.

const { createPrng } = require('./prng')
const words = require('./words.json')

const GENERATOR_VERSION = 1
const DEFAULT_SEED = 343
const FIRST_TIMESTAMP = 1436000000000
const AUTHORS = 4000
// How many of the latest messages and authors a new message may refer to.
const MEMORY_SIZE = 2048
const REPLY_SHARE = 0.27
const HIT_SHARE = 0.001

/** @typedef {import('./prng').Prng} Prng */
/** @typedef {ReturnType<typeof createMemory>} Memory */
/** @typedef {Record<string, unknown>} Fields */

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
  const keys = createMemory(prng, query)
  const people = createMemory(prng, `@${prng.base64(32)}.ed25519`)
  const world = { prng, query, keys, people }
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
        content: count === 1 ? createPost(world) : createAny(world, author.id),
        signature: `${prng.base64(64)}.sig.ed25519`
      },
      // Two messages received in the same millisecond are told apart by a fraction, so many clocks are not integers.
      timestamp: timestamp + prng.below(90000) + (prng.chance(0.4) ? (1 + prng.below(9)) / 1000 : 0)
    }
    author.previous = key
    keys.add(key)
    people.add(author.id)
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

/**
 * What is known when a message is written.
 * @typedef {object} World
 * @property {Prng} prng
 * @property {string} query  the root of one message in a thousand
 * @property {Memory} keys  of messages written before
 * @property {Memory} people  who wrote them
 */

/**
 * @param {World} world
 * @param {string} author
 */
function createAny (world, author) {
  const kind = world.prng.fraction()
  if (kind < 0.13) return createPost(world)
  if (kind < 0.13 + REPLY_SHARE) return createReply(world)
  if (kind < 0.73) return createVote(world)
  if (kind < 0.83) return createContact(world)
  if (kind < 0.87) return createAbout(world, author)
  if (kind < 0.955) return `${world.prng.base64(180 + skewed(world.prng, 300, 5000))}.box`
  return createRarity(world)
}

/** @param {World} world */
function createPost (world) {
  const { prng } = world
  /** @type {Fields} */
  const content = { type: 'post', text: writeText(prng, skewed(prng, 38, 1200)) }
  if (prng.chance(0.3)) content.channel = prng.pick(words.channels)
  addMentions(world, content)
  return content
}

/** @param {World} world */
function createReply (world) {
  const { prng, keys, people, query } = world
  const root = prng.chance(HIT_SHARE / REPLY_SHARE) ? query : pickOther(world)
  /** @type {Fields} */
  const content = { type: 'post', text: writeText(prng, skewed(prng, 25, 1200)) }
  if (prng.chance(0.2)) content.channel = prng.pick(words.channels)
  if (prng.chance(0.3)) content.reply = { [keys.pick()]: people.pick() }
  // `root` is never the last field of its object: bipf 1.9.0 misses a last field that is short.
  content.root = root
  content.branch = prng.chance(0.12) ? [keys.pick(), keys.pick()] : prng.chance(0.4) ? root : keys.pick()
  addMentions(world, content)
  return content
}

/**
 * @param {World} world
 * @returns {string}  a key that the query does not ask for
 */
function pickOther ({ prng, keys, query }) {
  const key = keys.pick()
  return key === query ? `%${prng.base64(32)}.sha256` : key
}

/**
 * @param {World} world
 * @param {Fields} content
 */
function addMentions (world, content) {
  const { prng } = world
  if (!prng.chance(0.3)) return
  const count = 1 + Math.floor(prng.fraction() * prng.fraction() * 4)
  content.mentions = Array.from({ length: count }, () => createMention(world))
}

/** @param {World} world */
function createMention ({ prng, keys, people }) {
  const kind = prng.below(10)
  if (kind < 5) return { link: people.pick(), name: writeName(prng, 1) }
  if (kind < 7) return { link: keys.pick() }
  return {
    link: createBlobId(prng),
    name: `${writeName(prng, 2).replace(' ', '-')}.jpg`,
    size: 1000 + prng.below(4000000),
    type: 'image/jpeg',
    ...(prng.chance(0.5) ? { width: 200 + prng.below(3000), height: 200 + prng.below(2000) } : {})
  }
}

/** @param {World} world */
function createVote ({ prng, keys }) {
  const expression = prng.pick(['Like', 'Like', 'Like', 'Unlike', 'dig', 'yup', '👍', '❤️'])
  const vote = { link: keys.pick(), value: prng.chance(0.96) ? 1 : 0, expression }
  return prng.chance(0.2) ? { type: 'vote', channel: prng.pick(words.channels), vote } : { type: 'vote', vote }
}

/** @param {World} world */
function createContact ({ prng, people }) {
  const state = prng.chance(0.9) ? { following: prng.chance(0.85) } : { blocking: prng.chance(0.8) }
  return { type: 'contact', contact: people.pick(), ...state, ...(prng.chance(0.2) ? { pub: true } : {}) }
}

/**
 * @param {World} world
 * @param {string} author
 */
function createAbout ({ prng, people }, author) {
  const about = prng.chance(0.8) ? author : people.pick()
  const field = prng.below(3)
  if (field === 0) return { type: 'about', about, name: writeName(prng, 1 + prng.below(2)) }
  if (field === 1) return { type: 'about', about, description: writeText(prng, skewed(prng, 14, 200)) }
  return { type: 'about', about, image: { link: createBlobId(prng), size: prng.below(900000), type: 'image/png' } }
}

/** @param {World} world */
function createRarity (world) {
  const { prng, keys, people } = world
  const kind = prng.below(4)
  if (kind === 0) return { type: 'channel', channel: prng.pick(words.channels), subscribed: prng.chance(0.8) }
  if (kind === 1) {
    return { type: 'pub', address: { host: `${writeName(prng, 1)}.example`, port: 8008, key: people.pick() } }
  }
  if (kind === 2) {
    const refs = { 'refs/heads/main': null }
    return { type: 'git-update', repo: keys.pick(), refs, commits: [], num_objects: prng.below(400) }
  }
  return { type: 'chess_move', ply: prng.below(90), root: pickOther(world), orig: `${'abcdefgh'[prng.below(8)]}2` }
}

/** @param {Prng} prng */
function createBlobId (prng) {
  return `&${prng.base64(32)}.sha256`
}

/**
 * The latest strings. A new one takes the place of an old one chosen at random, so what is picked has no period.
 * @param {Prng} prng
 * @param {string} first  so that there is always one to pick
 */
function createMemory (prng, first) {
  const list = [first]
  return {
    pick: () => prng.pick(list),
    /** @param {string} text */
    add (text) {
      if (list.length < MEMORY_SIZE) list.push(text)
      else list[prng.below(MEMORY_SIZE)] = text
    }
  }
}

// Text as people write it: sentences of words, now and then in another script, with links, quotes and line breaks. Its
// words are mostly English; the rest bring characters of two, three and four bytes, since a log of pure ASCII flatters
// every codec. Only + - * / are used, since these alone give the same bits on every machine: Math.log and Math.pow
// need not.

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

exports.createMessages = createMessages
exports.DEFAULT_SEED = DEFAULT_SEED
exports.GENERATOR_VERSION = GENERATOR_VERSION
