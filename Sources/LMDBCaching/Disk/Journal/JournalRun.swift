/// What one segment of a dead process's journal holds.
struct JournalRun {
  /// The stamp of the last frame that was written before this run's first; 0 for the first run of a journal.
  let previous: UInt64
  /// Oldest first, at least one.
  let frames: [JournalFrame]

  /// The frames that are newer than `watermark`, oldest first, up to the first gap.
  ///
  /// The death of the process leaves no gap. A power cut does, since the system writes the journal's pages in any
  /// order, and so does damage: what comes after writes that are lost must not be there without them.
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
