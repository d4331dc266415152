import Foundation

/// The directory of the subjects' files, removed when the program ends, also by a signal.
final class Scratch {
  let url: URL
  private var sources: [any DispatchSourceSignal] = []

  /// - Parameter parent: A directory on the disk to measure.
  init(in parent: URL) throws {
    let url = parent.appendingPathComponent("lmdb-cache-benchmark-\(getpid())")
    self.url = url
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    for number in [SIGINT, SIGTERM, SIGHUP] {
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        // Subjects may still be writing: a failed removal is reported and ignored.
        do {
          try FileManager.default.removeItem(at: url)
        } catch {
          FileHandle.standardError.write(Data("Left behind: \(url.path)\n".utf8))
        }
        _exit(128 + number)
      }
      source.resume()
      sources.append(source)
    }
  }

  func remove() throws { try FileManager.default.removeItem(at: url) }
}
