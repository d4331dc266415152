/// The progress of a copy whose total becomes known later.
final class CopyProgress {
  var total: Int? {
    // Another attempt starts over.
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
