// The time line: a bar for the records of each part of it. Damage is red. A click, or Enter, goes there.

import uPlot from './uplot.mjs'
import { create, formatCount, formatTime } from './text.mjs'

const DAY_S = 86_400
const MINUTE_S = 60
/** Between the ordinals of records. */
const WHOLE = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat()

document.head.append(Object.assign(create('link'), { rel: 'stylesheet', href: 'uplot.css' }))

export class Chart {
  #place
  #onPick
  #onPoint
  #plot = null
  #timeline = null
  #damage = []
  #index = -1

  /**
   * @param {HTMLElement} place
   * @param {{ onPick: (place: string | number) => void, onPoint: (text: string) => void }} listeners
   */
  constructor (place, { onPick, onPoint }) {
    this.#place = place
    this.#onPick = onPick
    this.#onPoint = onPoint
    new ResizeObserver(() => this.#resize()).observe(place)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#draw())
    place.addEventListener('click', () => this.#pick())
    place.addEventListener('keydown', (event) => this.#onKey(event))
  }

  set timeline (timeline) {
    this.#timeline = timeline
    this.#draw()
  }

  /** Ranges of seqs. */
  set damage (ranges) {
    this.#damage = ranges
    this.#draw()
  }

  #draw () {
    const index = this.#index
    this.#plot?.destroy()
    this.#plot = null
    const timeline = this.#timeline
    if (timeline === null || this.#place.clientWidth === 0) return
    const { start, end, counts, unit } = timeline
    this.#place.setAttribute('aria-valuemax', String(counts.length - 1))
    const width = (end - start) / counts.length
    const scale = unit === 'time' ? 1 / 1000 : 1
    const xs = counts.map((_, index) => (start + (index + 0.5) * width) * scale)
    const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
    const [quiet, line, accent, bad] = ['--quiet', '--line', '--accent', '--bad'].map((name) => resolveColor(color(name)))
    const bars = uPlot.paths.bars({ size: [0.85, 40] })
    const axis = { stroke: quiet, font: '11px system-ui, sans-serif', grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } }
    this.#plot = new uPlot({
      width: this.#place.clientWidth,
      height: this.#place.clientHeight,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      // As everywhere on the page, times are in UTC.
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
      scales: { x: { time: unit === 'time', range: [start * scale, end * scale] }, y: { range: (_, min, max) => [0, Math.max(1, max)] } },
      axes: [
        { ...axis, size: 24, ...(unit === 'index' && { incrs: WHOLE }), values: (_, ticks, __, ___, step) => ticks.map((tick) => unit === 'time' ? shortTime(tick, step) : short(tick)) },
        { ...axis, size: 48, values: (_, ticks) => ticks.map((tick) => Number.isInteger(tick) ? short(tick) : '') }
      ],
      series: [{}, { stroke: accent, fill: accent, width: 0, paths: bars, points: { show: false } }],
      hooks: {
        setCursor: [(plot) => this.#point(plot.cursor.idx ?? -1)],
        draw: [(plot) => this.#drawDamage(plot, bad)],
        ready: [() => { if (index >= 0) this.#goTo(index) }]
      }
    }, [xs, counts], this.#place)
  }

  /** @param {number} index  of a bar */
  #goTo (index) {
    this.#plot.setCursor({ left: this.#plot.valToPos(this.#plot.data[0][index], 'x'), top: 0 })
  }

  #drawDamage (plot, color) {
    const { counts, seqs: bySlot } = this.#timeline
    const { left, width, top, height } = plot.bbox
    plot.ctx.fillStyle = color
    for (const range of this.#damage) {
      const seqs = bySlot[range.slot ?? '']
      if (!range.seqs || !seqs) continue
      const all = seqs.map((seq, bin) => ({ from: seq, to: seqs[bin + 1] ?? Infinity, bin }))
      const bins = all.filter(({ from }) => from !== null)
      const hit = bins.filter(({ from, to }) => range.seqs.from < Math.max(to, from + 1) && range.seqs.to > from)
      const marked = hit.length > 0 ? hit : bins.slice(-1)
      for (const { bin } of marked) {
        plot.ctx.fillRect(left + bin / counts.length * width, top, Math.max(3, width / counts.length), height * 0.12)
      }
    }
  }

  #point (index) {
    this.#index = index
    if (index < 0) return this.#onPoint('')
    const { start, end, counts, unit, isCounted } = this.#timeline
    const from = start + index * (end - start) / counts.length
    const where = unit === 'time' ? `from ${formatTime(Math.round(from / 1000) * 1000)}` : `from record ${formatCount(Math.round(from))}`
    const text = `${isCounted ? '' : 'about '}${formatCount(counts[index])} records ${where}`
    this.#place.setAttribute('aria-valuenow', String(index))
    this.#place.setAttribute('aria-valuetext', text)
    this.#onPoint(text)
  }

  #pick () {
    if (this.#timeline && this.#index >= 0) this.#onPick(this.#timeline.places[this.#index])
  }

  #onKey (event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (event.key === 'Enter') return this.#pick()
    if (!step || !this.#plot) return
    event.preventDefault()
    const count = this.#timeline.counts.length
    const index = Math.min(count - 1, Math.max(0, this.#index === -1 ? (step < 0 ? count - 1 : 0) : this.#index + step))
    this.#goTo(index)
  }

  #resize () {
    if (this.#plot) this.#plot.setSize({ width: this.#place.clientWidth, height: this.#place.clientHeight })
    else this.#draw()
  }
}

/** A canvas does not know `light-dark()`. */
function resolveColor (text) {
  const probe = document.createElement('span')
  probe.style.color = text
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/**
 * As the records have it, but for what the step between two ticks makes needless.
 * @type {(seconds: number, step: number) => string}
 */
function shortTime (seconds, step) {
  const text = formatTime(Math.round(seconds * 1000))
  if (step >= DAY_S || seconds % DAY_S === 0) return text.slice(0, 10)
  return step >= MINUTE_S ? text.slice(11, 16) : text.slice(11)
}

function short (number) {
  return new Intl.NumberFormat('en', { notation: 'compact' }).format(number)
}
