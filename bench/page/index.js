'use strict'
// images/report.html: one file that opens from disk. Styles, scripts and figures are all in it, and its policy lets the
// browser ask for nothing else.

const { createHash } = require('node:crypto')
const fs = require('node:fs')
const path = require('node:path')
const { drawBars } = require('../lib/bars')
const { chooseLooks, drawChart, drawSymbol } = require('../lib/card')

const UPLOT = path.dirname(require.resolve('uplot/package.json'))
const COLOURS = 5
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/**
 * @param {import('./page').Report} report
 * @returns {Promise<string>}  HTML
 */
async function writePage ({ profiles = [], ...report }) {
  const joined = joinMachines(report)
  const looks = chooseLooks(joined.stacks.length)
  const marks = await Promise.all(looks.map(drawSymbol))
  const paint = (/** @type {'light' | 'dark'} */ mode) => looks.map((look, index) => `--stack-${index}: ${look[mode]};`).join(' ')
  const style = fill(read(__dirname, 'style.css'), { light: paint('light'), dark: paint('dark') })
  /** @type {import('./page').Page} */
  const page = {
    ...joined,
    looks: looks.map(({ lineWidth }, index) => ({ lineWidth, mark: marks[index] })),
    machines: 1 + (report.others ?? []).length,
    pictures: await drawProfiles(profiles)
  }
  const assets = {
    uplotStyle: read(UPLOT, 'dist/uPlot.min.css'),
    style,
    uplot: read(UPLOT, 'dist/uPlot.iife.min.js'),
    script: read(__dirname, 'browser.mjs')
  }
  const hash = (/** @type {string} */ text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  return fill(read(__dirname, 'page.html'), {
    ...assets,
    policy: [
      "default-src 'none'",
      `style-src ${hash(assets.uplotStyle)} ${hash(style)}`,
      `script-src ${hash(assets.uplot)} ${hash(assets.script)}`,
      'img-src data:', "base-uri 'none'", "form-action 'none'"
    ].join('; '),
    licence: escape(read(UPLOT, 'LICENSE').trim()),
    title: escape(report.title),
    // Nothing in it can end the element.
    data: JSON.stringify(page).replaceAll('<', '\\u003c')
  })
}

/**
 * As if each layer had been measured once for each machine: the charts of a layer are neighbours.
 * @param {import('./page').Report} report
 * @returns {import('./page').Report}
 */
function joinMachines ({ machine = 'this machine', others = [], ...report }) {
  if (others.length === 0) return report
  const all = [{ ...report, machine }, ...others]
  const blockSizes = [...new Set(all.flatMap(({ blockSizes }) => blockSizes))].sort((a, b) => a - b)
  const labels = [...new Set(all.flatMap(({ stacks }) => stacks.map(({ label }) => label)))]
  const places = report.layers.flatMap(({ name }) => all.flatMap((one) => {
    const layer = one.layers.findIndex((layer) => layer.name === name)
    return layer < 0 ? [] : [{ one, layer }]
  }))
  return {
    ...report,
    blockSizes,
    layers: places.map(({ one, layer }) => ({ ...one.layers[layer], name: `${one.layers[layer].name}, ${one.machine}` })),
    stacks: labels.map((label) => ({
      label,
      cells: places.map(({ one, layer }) => {
        const cells = one.stacks.find((stack) => stack.label === label)?.cells[layer]
        return blockSizes.map((size) => cells?.[one.blockSizes.indexOf(size)] ?? null)
      })
    })),
    facts: all.flatMap(({ machine, facts }) => {
      return facts.map(([name, value]) => /** @type {[string, string]} */ ([`${machine}: ${name}`, value]))
    })
  }
}

/** @type {(profiles: NonNullable<import('./page').Report['profiles']>) => Promise<import('./page').Picture[]>} */
async function drawProfiles (profiles) {
  if (profiles.length === 0) return []
  /** @type {Map<string, number>} */
  const sums = new Map()
  for (const { name, share } of profiles.flatMap(({ shares }) => shares)) sums.set(name, (sums.get(name) ?? 0) + share)
  const names = [...sums].sort(([, a], [, b]) => b - a).map(([name]) => name)
  // As many as there are colours; the others together.
  const named = names.length > COLOURS ? names.slice(0, COLOURS - 1) : names
  const stacks = names.length > COLOURS ? [...named, 'all others'] : named
  const partsOf = (/** @type {{ name: string, share: number }[]} */ shares) => {
    const parts = named.map((name) => shares.find((one) => one.name === name)?.share ?? 0)
    return named === stacks ? parts : [...parts, Math.max(0, 1 - parts.reduce((sum, part) => sum + part, 0))]
  }
  const title = 'Where the processor time goes, by package'
  const subtitle = 'Shares of the time that a layer takes, by samples.'
  const svg = await drawChart({ title, subtitle, stacks, marks: 'bars', footer: [] }, (canvas) => drawBars(canvas, [{
    rows: profiles.map(({ name, shares }) => {
      return { label: name, bars: [{ look: 0, value: 1, parts: partsOf(shares) }] }
    })
  }], { formatTick: formatPercent }))
  const rows = profiles.map(({ name, shares }) => [name, ...partsOf(shares).map(formatPercent)])
  return [{ title, svg, alt: 'A bar a layer, of the shares in the table below.', heads: ['layer', ...stacks], rows }]
}

/** @param {number} share */
function formatPercent (share) {
  return `${Math.round(100 * share)}%`
}

/** @param {string[]} parts  of a path */
function read (...parts) {
  return fs.readFileSync(path.join(...parts), 'utf8')
}

/**
 * @param {string} template  with names in double braces
 * @param {Record<string, string>} values
 */
function fill (template, values) {
  return template.replace(/\{\{(\w+)\}\}/g, (_, name) => values[name])
}

/** @param {string} text */
function escape (text) {
  return text.replace(/[&<>"]/g, (char) => ENTITIES[/** @type {keyof typeof ENTITIES} */ (char)])
}

exports.writePage = writePage
