/// The contents of one segment of a dead process's journal.
struct JournalRun {
  /// The stamp of the frame written before this run's first; 0 for a journal's first run.
  let previous: UInt64
  let frames: [JournalFrame]

  /// The frames after `watermark`, oldest first, up to the first gap.
  ///
  /// A process crash leaves no gap. Power cuts, which persist pages in any order, and damage do: writes after a lost
  /// one must not survive it.
  static func frames(of runs: [JournalRun], after watermark: UInt64) -> [JournalFrame] {
    var last = watermark
    var found: [JournalFrame] = []
    for run in runs {
      guard run.previous <= last else { break }
      found += run.frames.filter { $0.stamp > watermark }
      last = max(last, run.frames.last!.stamp)
    }
    return found
  }
}
