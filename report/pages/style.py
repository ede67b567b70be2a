"""The style of all pages: light and dark, on a screen, a phone and paper."""

from __future__ import annotations

from typing import Final

__all__ = ["COLOURS", "STYLE"]

COLOURS: Final = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1a1c1e; --quiet: #5a6068;
  --line: #d5d9de; --panel: #f4f6f8; --accent: #0b57a4; --warn: #9a1b12; --warn-panel: #fdeceb;
  --banner: #9a1b12; --on-banner: #fff;
  --good: #1b6b3a; --part: #7a5200; --series-1: #0b57a4; --series-2: #b34700;
  --series-3: #1b6b3a; --series-4: #8a2b78; --series-5: #6b5a00; --series-6: #0f6f7c;
  --series-7: #9a1b12; --series-8: #4a4f57; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15181b; --ink: #e6e8ea; --quiet: #a3abb4; --line: #3a4148; --panel: #1e2327;
    --accent: #7db8f5; --warn: #ff9d94; --warn-panel: #3a1d1b; --banner: #ff9d94;
    --on-banner: #15181b; --good: #7fd6a0; --part: #f0c560;
    --series-1: #7db8f5; --series-2: #ffae70; --series-3: #7fd6a0; --series-4: #e5a1d6;
    --series-5: #e2cf6b; --series-6: #6fd3df; --series-7: #ff9d94; --series-8: #c3c9d0; }
}
"""
"""The colours, by the theme of the reader's system."""

STYLE: Final = (
    COLOURS
    + """
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 0; }
main { max-width: 64rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: .5rem 0 1rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
h2 { font-size: 1.25rem; margin: 3rem 0 .8rem; padding-top: .8rem;
  border-top: 1px solid var(--line); }
p { margin: .6rem 0; max-width: 46rem; }
.lead { font-size: 1.1rem; }
.quiet { color: var(--quiet); font-size: .92rem; }
a { color: var(--accent); }
nav { margin: 1rem 0; }
nav a { display: inline-block; margin: .15rem 1rem .15rem 0; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; }
.wide { overflow-x: auto; margin: .6rem 0 1rem;
  background: linear-gradient(to left, var(--paper) 1rem, transparent) right / 2rem 100% local,
    linear-gradient(to left, var(--line), transparent) right / .7rem 100% scroll;
  background-repeat: no-repeat; }
.wide > table > thead > tr > :first-child, .wide > table > tbody > tr > th { position: sticky;
  left: 0; background: var(--paper); }
.full { width: min(100vw - 2rem, 90rem); margin-left: 50%; transform: translateX(-50%); }
.full > .wide { width: fit-content; max-width: 100%; min-width: min(62rem, 100%); margin-left: auto;
  margin-right: auto; }
.full th, .full td { padding-right: .7rem; }
.full tbody th { overflow-wrap: anywhere; min-width: 6rem; max-width: 14rem; }
table { border-collapse: collapse; min-width: min(100%, 24rem);
  font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
caption span { position: sticky; left: 0; display: inline-block;
  max-width: min(46rem, calc(100vw - 2.5rem)); }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
thead th { color: var(--quiet); font-weight: 600; font-size: .88rem; vertical-align: bottom; }
tbody th { font-weight: 400; }
.number { text-align: right; }
.worse { color: var(--warn); font-weight: 600; }
.good { color: var(--good); }
.part { color: var(--part); }
td.bar { min-width: 5rem; }
td.bar i { display: block; height: .7rem; background: var(--series-1); border-radius: 2px; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .7rem;
  margin: 1.2rem 0; }
.cards > div { background: var(--panel); border-radius: .5rem; padding: .7rem .9rem; }
.cards dt { color: var(--quiet); font-size: .85rem; }
.cards dd { margin: 0; font-size: 1.35rem; font-weight: 600; overflow-wrap: anywhere; }
.cards small { display: block; font-weight: 400; font-size: .85rem; color: var(--quiet); }
.note { background: var(--panel); border-left: 4px solid var(--quiet); padding: .5rem .9rem;
  margin: .6rem 0; max-width: 48rem; }
.note.warn { background: var(--warn-panel); border-color: var(--warn); }
.banner { background: var(--banner); color: var(--on-banner); padding: .8rem 1rem; margin: 1rem 0;
  border: 3px solid var(--banner); border-radius: .5rem; overflow-wrap: anywhere; }
.banner strong { font-size: 1.35rem; letter-spacing: .03em; }
.banner code { font-size: 1em; }
details { margin: .6rem 0; }
summary { cursor: pointer; font-weight: 600; padding: .25rem 0; }
figure { margin: .8rem 0 1.2rem; }
figcaption { color: var(--quiet); font-size: .92rem; max-width: 46rem; overflow-wrap: anywhere; }
figure svg { display: block; max-width: none; }
figure.fits svg { max-width: 100%; height: auto; }
.narrow { display: none; }
.several { display: grid;
  grid-template-columns: repeat(auto-fill, minmax(min(19rem, 100%), 1fr)); gap: .5rem 1.5rem; }
.several.wider { grid-template-columns: repeat(auto-fill, minmax(min(26rem, 100%), 1fr)); }
pre { background: var(--panel); padding: .8rem; border-radius: .5rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
code { font-size: .9em; }
.unbroken { white-space: nowrap; }
td code, p code, dd code { overflow-wrap: anywhere; }
@media (max-width: 30rem) {
  main { padding: 1rem .8rem 3rem; }
  h1 { font-size: 1.35rem; }
  .cards dd { font-size: 1.15rem; }
  .wide > table { font-size: .92rem; }
  .wide > table > tbody > tr > th, .wide > table > thead > tr > :first-child { max-width: 10rem;
    overflow-wrap: break-word; }
  .wide > table > tbody > tr > th:not(.number) { min-width: 6rem; }
  .wide th, .wide td { padding-right: .6rem; }
  .wide td:not(.number, .bar) { min-width: 6.5rem; }
  figure.fits svg { max-width: none; }
  .broad { display: none; }
  .narrow { display: block; }
}
@media print {
  :root { color-scheme: light; --paper: #fff; --ink: #000; --quiet: #333; }
  body { font-size: 10.5pt; }
  nav, .skip { display: none; }
  main { max-width: none; padding: 0; }
  .wide { overflow: visible; }
  details::details-content { content-visibility: visible; block-size: auto; }
  figure, tr, .note, .banner { break-inside: avoid; }
  .banner { background: #fff; color: #9a1b12; border-color: #9a1b12; }
  h2, h3 { break-after: avoid; }
  figure svg { max-width: 100%; height: auto; }
}
"""
)
