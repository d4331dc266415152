import Foundation
import LMDBCaching

// A small YYCache program, ported to LMDBCache. The changes:
//
// - `YYCache(path:)` is `LMDBCache(directory:)`, and functions throw where YYCache was silent;
// - a duration is a `Duration`: `ageLimit = .seconds(3600)`;
// - a completion gets the error, if there was one;
// - `Portrait`, which is `NSCoding`, is unchanged.

guard CommandLine.arguments.count == 2 else {
  print("usage: yycache-port DIRECTORY")
  exit(64)
}
let cache: LMDBCache
do {
  cache = try LMDBCache(directory: URL(fileURLWithPath: CommandLine.arguments[1], isDirectory: true))
} catch {
  // The path may not be a usable directory: the message says what to do.
  print(error.message)
  exit(73)
}

// The limits of YYCache's tiers.
cache.memory.countLimit = 100
cache.memory.ageLimit = .seconds(3_600)
cache.disk.costLimit = 10 << 20
cache.disk.ageLimit = .seconds(7 * 86_400)

/// Returns a cached portrait, or draws it.
func portrait(of name: String) throws -> Portrait {
  if let known = try cache.object(forKey: name) as? Portrait {
    known.visits += 1
    try cache.setObject(known, forKey: name)
    return known
  }
  let drawn = Portrait(name: name, colours: name.utf8.map { Int($0) })
  try cache.setObject(drawn, forKey: name, cost: drawn.colours.count)
  return drawn
}

print("Ada was here before:", cache.containsObject(forKey: "Ada"))
for name in ["Ada", "Grace", "Ada"] {
  let portrait = try portrait(of: name)
  print("\(name): \(portrait.colours.count) colours, seen \(portrait.visits) times")
}

// Calls with blocks run in the background in order. The blocks may run concurrently, so nest calls that depend on each
// other.
let finished = DispatchSemaphore(value: 0)
cache.setObject(NSString("for a moment"), forKey: "note") { error in
  if let error { print("not stored: \(error)") }
}
cache.object(forKey: "note") { key, result in
  switch result {
  case .success(let object): print("\(key):", (object as? NSString).map(String.init(describing:)) ?? "nothing")
  case .failure(let error): print("\(key) cannot be read: \(error)")
  }
  cache.removeObject(forKey: "note") { key, error in
    print("\(key) is removed:", error == nil)
    finished.signal()
  }
}
finished.wait()

try cache.disk.trim(to: .count(10))
print("\(try cache.count) objects on the disk, \(cache.memory.count) in memory")

if try portrait(of: "Ada").visits > 6 {
  cache.removeAllObjects(progress: { removed, total in print("\(removed) of \(total) removed") }) { error in
    print("all removed:", error == nil)
    finished.signal()
  }
  finished.wait()
}
try cache.close()
