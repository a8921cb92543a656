'use strict'
// The pictures of pages in the READMEs, taken in a real browser. Usage: node scripts/take-pictures.js

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { createRandom } = require('@millrace/testkit')
const { serve } = require('../packages/millrace/lib/viewer/server')
const { openViewed } = require('../packages/millrace/lib/viewer/open')
const { withBrowser } = require('../test/browser')

const images = path.join(__dirname, '..', 'images')
const VIEWS = {
  '': { width: 1440, height: 900 },
  '-dark': { width: 1440, height: 900, isDark: true },
  '-360': { width: 360, height: 740, zoom: 2 }
}
const RECORD_COUNT = 200_000
const DAY_MS = 24 * 60 * 60 * 1000
const TYPES = ['order placed', 'order paid', 'order shipped', 'login', 'search']

/**
 * Five weeks of a shop, more by day than by night, with a sale in between and a flipped bit.
 * @param {string} file
 */
async function makeShopLog (file) {
  const random = createRandom(1)
  const log = OffsetLog(file, { codec: jsonCodec, fsync: 'never' })
  let time = Date.parse('2026-01-05T00:00:00Z')
  for (let batch = 0; batch < RECORD_COUNT / 1000; batch++) {
    await log.append(Array.from({ length: 1000 }, (_, index) => {
      const day = Math.sin((time % DAY_MS) / DAY_MS * 2 * Math.PI - Math.PI / 2) + 1.2
      const sale = Math.exp(-(((time - Date.parse('2026-01-23T00:00:00Z')) / DAY_MS) ** 2) / 2)
      time += Math.floor(random(30_000) / day / (1 + 2 * sale)) + 1
      const id = batch * 1000 + index
      const items = Array.from({ length: 1 + random(3) }, () => ({ sku: `A-${random(500)}`, count: 1 + random(4) }))
      return { time, level: random(50) === 0 ? 50 : 30, type: TYPES[random(5)], order: { id, customer: `c${random(9000)}`, items } }
    }))
  }
  await log.close()
  const bytes = fs.readFileSync(file)
  bytes[Math.floor(bytes.length * 0.7)] ^= 1
  fs.writeFileSync(file, bytes)
}

/** @param {(url: string) => Promise<void>} work */
async function withViewer (work) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-'))
  const file = path.join(folder, 'shop.log')
  await makeShopLog(file)
  const { viewed, close: closeLog } = await openViewed(file)
  const { url, close } = await serve(viewed)
  await work(url)
  await close()
  await closeLog()
  fs.rmSync(folder, { recursive: true })
}

/** @param {import('playwright-core').Page} page */
async function lookAround (page) {
  await page.waitForSelector('#chart canvas')
  await page.click('#verify')
  await page.waitForSelector('#damage:not([hidden])')
  await page.fill('#query', 'level=50 type="order paid"')
  await page.locator('#status', { hasText: ' ms' }).waitFor()
  // The record beside the list has no room on a phone.
  if ((page.viewportSize()?.width ?? 0) > 1000) await page.click('#list li >> nth=2')
  await page.waitForTimeout(1000)
}

withBrowser(async (open) => {
  for (const [suffix, view] of Object.entries(VIEWS)) {
    const { page } = await open({ path: path.join(images, 'report.html'), ...view })
    await page.screenshot({ path: path.join(images, `report${suffix}.png`) })
  }
  await withViewer(async (url) => {
    for (const [suffix, view] of Object.entries(VIEWS)) {
      const { page } = await open({ url, ...view })
      await lookAround(page)
      await page.screenshot({ path: path.join(images, `viewer${suffix}.png`) })
    }
  })
})
