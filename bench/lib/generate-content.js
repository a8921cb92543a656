'use strict'
// What messages say: posts and replies, votes, follows, names, private mail and a few rarer types, in the proportions
// of a real network more or less, and with fields that come and go.

const { channels } = require('./generate-words')
const { skewed, writeText, writeName } = require('./generate-text')

/** @typedef {import('./prng').Prng} Prng */
/** @typedef {ReturnType<typeof createMemory>} Memory */
/** @typedef {Record<string, unknown>} Fields */

// How many of the latest messages and authors a new message may refer to.
const MEMORY_SIZE = 2048
const REPLY_SHARE = 0.27
const HIT_SHARE = 0.001

/**
 * What is known when a message is written.
 * @typedef {object} World
 * @property {Prng} prng
 * @property {string} query  the root of one message in a thousand
 * @property {Memory} keys  of messages written before
 * @property {Memory} people  who wrote them
 */

/**
 * @typedef {object} Content
 * @property {(author: string) => object | string} create
 * @property {() => object} createPost  one that is no reply
 * @property {(key: string, author: string) => void} remember  lets later messages refer to this one
 */

/**
 * @param {Prng} prng
 * @param {string} query
 * @returns {Content}
 */
function createContent (prng, query) {
  const keys = createMemory(prng, query)
  const people = createMemory(prng, `@${prng.base64(32)}.ed25519`)
  const world = { prng, query, keys, people }
  return {
    create: (author) => createAny(world, author),
    createPost: () => createPost(world),
    remember (key, author) {
      keys.add(key)
      people.add(author)
    }
  }
}

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
  if (prng.chance(0.3)) content.channel = prng.pick(channels)
  addMentions(world, content)
  return content
}

/** @param {World} world */
function createReply (world) {
  const { prng, keys, people, query } = world
  const root = prng.chance(HIT_SHARE / REPLY_SHARE) ? query : pickOther(world)
  /** @type {Fields} */
  const content = { type: 'post', text: writeText(prng, skewed(prng, 25, 1200)) }
  if (prng.chance(0.2)) content.channel = prng.pick(channels)
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
  return prng.chance(0.2) ? { type: 'vote', channel: prng.pick(channels), vote } : { type: 'vote', vote }
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
  if (kind === 0) return { type: 'channel', channel: prng.pick(channels), subscribed: prng.chance(0.8) }
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

exports.createContent = createContent
