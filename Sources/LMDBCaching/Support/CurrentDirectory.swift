import Platform
import Synchronization

/// The directory of a store, which changes after a deletion.
final class CurrentDirectory: Sendable {
  private let directory: Mutex<Directory>

  init(_ directory: Directory) { self.directory = Mutex(directory) }

  var value: Directory {
    get { directory.withLock { $0 } }
    set { directory.withLock { $0 = newValue } }
  }
}
