import Storez

enum Animals: Namespace {
  static let id = "animals"
  static let count = Key<Animals, Int>(id: "count", defaultValue: 0)
  static let name = Key<Animals, String?>(id: "name", defaultValue: nil)
}

enum Cats: Namespace {
  typealias parent = Animals
  static let id = "cats"
  static let lion = Key<Cats, String?>(id: "lion", defaultValue: nil)
}

enum Kittens: Namespace {
  typealias parent = Cats
  static let id = "kittens"
  static let tom = Key<Kittens, Int>(id: "tom", defaultValue: 9)
}

enum Weather: Namespace {
  static let id = "weather"
  static let temperature = Key<Weather, Double>(id: "temp", defaultValue: 0)
  static let city = Key<Weather, String?>(id: "city", defaultValue: nil)
}
