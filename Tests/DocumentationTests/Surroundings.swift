import Foundation
import LMDBCaching

// What the documentation's examples take for granted.

/// What `cache` is in each of them, also where a block does not import what declares it.
typealias ExampleCache = LMDBCache

struct User: Codable, Sendable, Equatable {
  var id: Int
  var name: String
}

let user = User(id: 42, name: "Ada")
let url = URL(fileURLWithPath: "/tmp/thumbnails")
let thumbnail = Data()

func loadUser(_ id: Int) throws -> User { user }
func fetchUser(_ id: Int) async throws -> User { user }
func show(_ value: Any) {}
func secretKey() throws -> Data { Data(count: 32) }
