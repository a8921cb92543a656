'use strict'
// Secrets by their form: they are gone, nothing else is, and the line is JSON.

const pino = require('pino')
const tape = require('tape')
const { createRandom } = require('@millrace/testkit')
const { destination, preset } = require('..')
const { createRedactor } = require('../lib/patterns')
const { newFolder, readAll } = require('./helper')

const { redact, search } = createRedactor()
const MARK = '[Redacted]'

// In parts, so that no tool takes them for secrets of this repository.
const SECRETS = {
  'a card': '4111' + '111111111111',
  'a card with spaces': '5555 5555 5555 4444',
  'a card with dashes': '3782-822463-10005',
  'a JSON web token': 'eyJ' + 'hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
  'a key of AWS': 'AKIA' + 'IOSFODNN7EXAMPLE',
  'a key of Google': 'AIza' + 'SyA-1234567890abcdefghijklmnopqrstu',
  'a token of GitHub': 'ghp_' + 'a1B2'.repeat(9),
  'a token of GitHub, fine-grained': 'github_pat_' + 'a1_B2'.repeat(6),
  'a token of Slack': 'xoxb-' + '123456789012-abcdef',
  'a key of Stripe': 'sk_live_' + 'a1B2c3D4e5F6',
  'a token of npm': 'npm_' + 'a1B2'.repeat(9),
  'an email': 'ada.lovelace+news@example.co.uk'
}
const AROUND = [['', ''], ['x ', ' y'], ['(', ')'], ['\n', '\n'], ['"', '"'], ['\\\\', ' '], ['\u0001', '\u2028'], ['=', ','], ['ä ', ' ä']]

tape('patterns: secrets are gone, in whatever stands around them', (t) => {
  for (const [what, secret] of Object.entries(SECRETS)) {
    for (const [before, after] of AROUND) {
      const line = JSON.stringify({ time: 1795429997484, msg: `${before}${secret}${after}`, n: 1 })
      const found = JSON.parse(redact(line))
      if (found.msg !== `${before}${MARK}${after}` && before !== '\\\\') t.fail(`${what}: ${JSON.stringify(found.msg)}`)
      if (found.n !== 1 || found.time !== 1795429997484) t.fail(`${what}: the rest has changed`)
    }
  }
  t.equal(JSON.parse(redact('{"url":"postgres://app:pass@db.example.com/x"}')).url, `postgres://${MARK}@db.example.com/x`)
  t.equal(JSON.parse(redact('{"a":"Bearer abc.def1234567"}')).a, `Bearer ${MARK}`)
  t.equal(JSON.parse(redact('{"a":[4111111111111111,1]}')).a[0], MARK, 'a number becomes a text')
  t.equal(JSON.parse(redact(JSON.stringify({ a: '-----BEGIN RSA PRIVATE KEY-----\nMIIE+/=\n-----END RSA PRIVATE KEY-----\n' }))).a, MARK)
  t.end()
})

tape('patterns: what only looks like a secret stays', (t) => {
  for (const value of [1795429997484, 0.4111111111111111, '4111111111111112', 'a4111111111111111', 'pino@10.4.0', '@millrace/pino',
    'bearer authentication failed', 'https://example.com:8080/@ada', 'sk_live_', 'eyJhbGciOi', '00f067aa0ba902b7', 'user@host',
    '0af7651916cd43dd8448eb211c80319c', '\npm_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2', 4111111111111111.5, 'a'.repeat(1000)]) {
    const line = JSON.stringify({ value })
    t.equal(redact(line), line)
  }
  t.end()
})

tape('patterns: only some of them, and another censor', (t) => {
  const some = createRedactor(['email'], 'a "quoted" word').redact
  t.deepEqual(JSON.parse(some('{"a":"ada@example.com 4111111111111111"}')), { a: 'a "quoted" word 4111111111111111' })
  t.throws(() => createRedactor(['phone']), { code: 'ERR_INVALID_ARGUMENT' })
  t.throws(() => createRedactor('email'), { code: 'ERR_INVALID_ARGUMENT' })
  t.throws(() => createRedactor(undefined, 7), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})

const seed = Date.now() % 2 ** 31
tape(`patterns: any line stays JSON of the same shape, and hints change nothing (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  const parts = [...Object.values(SECRETS), '\\', '"', '\n', '\u0001', '@', '://a:b@c.de', '4111', ' ', '-', 'x', 'eyJ', '.', 'u0041', '\t', 'ü']
  const makeText = () => Array.from({ length: random(8) }, () => parts[random(parts.length)]).join('')
  for (let round = 0; round < 20_000; round++) {
    const value = { [makeText()]: makeText(), list: [makeText(), 4111111111111111, random(2 ** 31)], level: 30 }
    const line = JSON.stringify(value)
    const found = redact(line)
    if (found !== search(line)) return t.fail(`with hints ${found}, without ${search(line)}`)
    const parsed = JSON.parse(found)
    if (parsed.level !== 30 || parsed.list[2] !== value.list[2] || parsed.list.length !== 3) return t.fail(line)
  }
  t.pass('20,000 lines')
  t.end()
})

tape('patterns: the time is linear in the length, whatever the line is', (t) => {
  const hostile = ['a', '@', 'a@', 'a@b.', '://', '://a:', 'eyJ', 'eyJaaaaaaaa ', '4', '4111 ', 'Bearer a', '\\\\', '-----BEGIN ', 'sk_live_', '\\n4111']
  for (const part of hostile) {
    const timeOf = (size) => {
      const line = `{"m":"@ eyJ 4111-1111-1111 ${part.repeat(size / part.length)}"}`
      const began = performance.now()
      redact(line)
      return performance.now() - began
    }
    timeOf(1e5)
    // A quadratic search would take a hundred times as long, which is minutes.
    t.ok(timeOf(1e6) < 5000, JSON.stringify(part))
  }
  t.end()
})

tape('redaction: by paths of pino and by patterns, in the log, in tee and in drop', async (t) => {
  const folder = newFolder()
  const seen = []
  const [options, to] = preset('production', folder, { tee: { write: (line) => seen.push(line) }, queue: { count: 3 }, whenFull: 'drop-new' })
  to.on('drop', (line) => seen.push(line))
  const logger = pino(options, to)
  for (let n = 0; n < 4; n++) logger.info({ n, password: 'p4ss', user: { token: 't0k' }, req: { headers: { cookie: 'c00k', host: 'h' } } }, 'ada@example.com')
  to.write(`paid with ${SECRETS['a card']}\n`)
  await to.close()
  const all = JSON.stringify(await readAll(folder)) + seen.join('')
  // Not 4111 alone: a time may have these digits.
  t.notOk(/p4ss|t0k|c00k|ada@|4111.?1111/.test(all), 'nothing secret')
  t.ok(all.includes('"host":"h"'))
  t.equal(seen.length, 7, 'five lines, two of them dropped')
  t.throws(() => destination('x', { redact: ['phone'] }), { code: 'ERR_INVALID_ARGUMENT' })
})
