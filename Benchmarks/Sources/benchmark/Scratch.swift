import Foundation

/// The directory that subjects keep their files in, which is gone when the program ends, by a signal as well.
final class Scratch {
  let url: URL
  private var sources: [any DispatchSourceSignal] = []

  /// - Parameter parent: on the disk to measure on.
  init(in parent: URL) throws {
    let url = parent.appendingPathComponent("lmdb-cache-benchmark-\(getpid())")
    self.url = url
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    for number in [SIGINT, SIGTERM, SIGHUP] {
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        // Subjects go on writing meanwhile: what cannot be removed now is reported, and no reason to stay.
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
