#if os(Linux)
  import Foundation
  import Glibc
  import LMDBCaching
  import Platform

  /// Loads with a limit of time, which run beside their caller.
  extension Session {
    private func load(_ key: String, from cache: LMDBCache, within limit: Duration = .seconds(300)) throws -> String {
      var options = LoadOptions()
      options.timeLimit = limit
      return try cache.value(String.self, forKey: key, options: options) { _ in key }
    }

    /// In this process, and then in a child, which opens a directory of its own. How the child ended.
    func loadInChild(_ directory: String) throws -> String {
      _ = try load("key", from: opened())
      let child = fork()
      if child == 0 {
        alarm(300)
        do {
          let own = try LMDBCache(directory: URL(fileURLWithPath: directory))
          exit(try load("key", from: own) == "key" ? 0 : 1)
        } catch { exit(2) }
      }
      var ending: Int32 = 0
      while waitpid(child, &ending, 0) < 0 && errno == EINTR {}
      return String(ending)
    }

    /// One while the system allows no more threads, and one after that. The first one's error, and what is there in the end.
    func loadWithoutThread() throws -> String {
      let cache = try opened()
      let session = FaultInjection.begin(.currentThread, [.init(.pthreadCreate, returns: EAGAIN, count: .max)])
      var code: CacheError.Code?
      do { _ = try load("early", from: cache, within: .milliseconds(50)) } catch let error as CacheError {
        code = error.code
      }
      FaultInjection.end(session)
      let late = try load("late", from: cache)
      let limit = Date(timeIntervalSinceNow: 300)
      while Date() < limit {
        if let early = try cache.value(String.self, forKey: "early") {
          return [code.map { "\($0)" } ?? "none", early, late].joined(separator: " ")
        }
        usleep(1_000)
      }
      return "not loaded"
    }
  }
#endif
