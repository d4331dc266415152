import Platform
import Synchronization

/// The directory that a store is in: another one after its own was deleted.
final class CurrentDirectory: Sendable {
  private let directory: Mutex<Directory>

  init(_ directory: Directory) { self.directory = Mutex(directory) }

  var value: Directory {
    get { directory.withLock { $0 } }
    set { directory.withLock { $0 = newValue } }
  }
}
