/// The progress of a copy, which is told how many entries there are when that is known.
final class CopyProgress {
  var total: Int? {
    // Another attempt begins from the start.
    didSet {
      progress.end()
      (progress, done) = (Progress(total: total), 0)
    }
  }
  private var progress = Progress(total: nil)
  private var done = 0

  func show(_ done: Int) {
    progress.advance(by: done - self.done)
    self.done = done
  }

  func end() { progress.end() }
}
