#ifndef CSECRET_SHIM_H
#define CSECRET_SHIM_H

// What is used of libsecret, GIO, GObject and GLib, declared once more. Their headers are not in the compiler's path, and
// pkg-config, which knows where they are, asks for `-pthread` as well, which the package manager refuses with a warning
// for whoever uses this package. The binary interface is what these libraries promise for as long as they have their
// names. `Scripts/test` compares all of this with the headers, by Scripts/lib/libsecret.c.

#include <stddef.h>
#include <stdint.h>

// MARK: Types. Not where the libraries' own headers were included before, for the comparison.

#ifndef __G_LIB_H__

typedef char gchar;
typedef int gint;
typedef int gboolean;
typedef unsigned int guint;
typedef uint32_t guint32;
typedef uint64_t guint64;
typedef size_t gsize;
typedef ptrdiff_t gssize;
typedef void *gpointer;
typedef const void *gconstpointer;
typedef uint32_t GQuark;
typedef gsize GType;

typedef struct _GMainContext GMainContext;
typedef struct _GSource GSource;
typedef struct _GVariant GVariant;
typedef struct _GVariantType GVariantType;
typedef struct _GObject GObject;
typedef struct _GParamSpec GParamSpec;
typedef struct _GValue GValue;
typedef struct _GTypeInstance GTypeInstance;
typedef struct _GAsyncResult GAsyncResult;
typedef struct _GCancellable GCancellable;
typedef struct _GDBusAuthObserver GDBusAuthObserver;
typedef struct _GDBusConnection GDBusConnection;
typedef struct _SecretService SecretService;
typedef struct _SecretValue SecretValue;

typedef struct _GError {
  GQuark domain;
  gint code;
  gchar *message;
} GError;

typedef struct _GTypeQuery {
  GType type;
  const gchar *type_name;
  guint class_size;
  guint instance_size;
} GTypeQuery;

typedef struct _GObjectConstructParam {
  GParamSpec *pspec;
  GValue *value;
} GObjectConstructParam;

/// How it begins: what makes one asks `g_type_query` for its size.
typedef struct _GObjectClass {
  GType g_type_class;
  void *construct_properties;
  GObject *(*constructor)(GType type, guint n_construct_properties, GObjectConstructParam *construct_properties);
} GObjectClass;

typedef gboolean (*GSourceFunc)(gpointer user_data);
typedef void (*GDestroyNotify)(gpointer data);
typedef void (*GClassInitFunc)(gpointer g_class, gpointer class_data);
typedef void (*GInstanceInitFunc)(GTypeInstance *instance, gpointer g_class);
typedef void (*GAsyncReadyCallback)(GObject *source_object, GAsyncResult *res, gpointer user_data);
typedef void (*GDBusSignalCallback)(
    GDBusConnection *connection, const gchar *sender_name, const gchar *object_path, const gchar *interface_name,
    const gchar *signal_name, GVariant *parameters, gpointer user_data);

// Of enumerations, the values that are used.
typedef unsigned int GTypeFlags;
typedef enum { G_BUS_TYPE_NONE = 0 } GBusType;
typedef enum {
  G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES = 1 << 0,
  G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS = 1 << 1,
  G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START = 1 << 2,
} GDBusProxyFlags;
typedef enum {
  G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT = 1 << 0,
  G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION = 1 << 3,
} GDBusConnectionFlags;
typedef enum { G_DBUS_CALL_FLAGS_NO_AUTO_START = 1 << 0 } GDBusCallFlags;
typedef enum { G_DBUS_SIGNAL_FLAGS_NONE = 0 } GDBusSignalFlags;
typedef enum {
  G_IO_ERROR_CLOSED = 18,
  G_IO_ERROR_CANCELLED = 19,
  G_IO_ERROR_TIMED_OUT = 24,
  G_IO_ERROR_BROKEN_PIPE = 44,
  G_IO_ERROR_NOT_CONNECTED = 45,
} GIOErrorEnum;
typedef enum { SECRET_SERVICE_NONE = 0 } SecretServiceFlags;

#endif

// MARK: GLib

void g_free(gpointer mem);
void g_error_free(GError *error);
const gchar *g_quark_to_string(GQuark quark);

GMainContext *g_main_context_new(void);
void g_main_context_unref(GMainContext *context);
void g_main_context_push_thread_default(GMainContext *context);
void g_main_context_pop_thread_default(GMainContext *context);
gboolean g_main_context_iteration(GMainContext *context, gboolean may_block);
GSource *g_timeout_source_new(guint interval);
void g_source_set_callback(GSource *source, GSourceFunc func, gpointer data, GDestroyNotify notify);
guint g_source_attach(GSource *source, GMainContext *context);
void g_source_destroy(GSource *source);
void g_source_unref(GSource *source);

void g_variant_unref(GVariant *value);
GVariant *g_variant_ref(GVariant *value);
GVariant *g_variant_ref_sink(GVariant *value);
GVariant *g_variant_new_string(const gchar *string);
GVariant *g_variant_new_object_path(const gchar *object_path);
GVariant *g_variant_new_boolean(gboolean value);
GVariant *g_variant_new_uint32(guint32 value);
GVariant *g_variant_new_variant(GVariant *value);
GVariant *g_variant_new_dict_entry(GVariant *key, GVariant *value);
GVariant *g_variant_new_tuple(GVariant *const *children, gsize n_children);
GVariant *g_variant_new_array(const GVariantType *child_type, GVariant *const *children, gsize n_children);
gboolean g_variant_is_of_type(GVariant *value, const GVariantType *type);
const gchar *g_variant_get_string(GVariant *value, gsize *length);
gboolean g_variant_get_boolean(GVariant *value);
guint64 g_variant_get_uint64(GVariant *value);
gsize g_variant_n_children(GVariant *value);
GVariant *g_variant_get_child_value(GVariant *value, gsize index);
GVariant *g_variant_get_variant(GVariant *value);

// MARK: GObject

// In parentheses, since the headers have a macro of this name too.
gpointer(g_object_ref)(gpointer object);
void g_object_unref(gpointer object);
void g_object_set_property(GObject *object, const gchar *property_name, const GValue *value);
const gchar *g_param_spec_get_name(GParamSpec *pspec);
GType g_type_from_name(const gchar *name);
void g_type_query(GType type, GTypeQuery *query);
gpointer g_type_class_peek(GType type);
GType g_type_register_static_simple(
    GType parent_type, const gchar *type_name, guint class_size, GClassInitFunc class_init, guint instance_size,
    GInstanceInitFunc instance_init, GTypeFlags flags);

// MARK: GIO

GQuark g_io_error_quark(void);
gchar *g_dbus_error_get_remote_error(const GError *error);
gboolean g_dbus_error_strip_remote_error(GError *error);
GCancellable *g_cancellable_new(void);
void g_cancellable_cancel(GCancellable *cancellable);
gpointer g_initable_new(
    GType object_type, GCancellable *cancellable, GError **error, const gchar *first_property_name, ...);

void g_dbus_connection_new_for_address(
    const gchar *address, GDBusConnectionFlags flags, GDBusAuthObserver *observer, GCancellable *cancellable,
    GAsyncReadyCallback callback, gpointer user_data);
GDBusConnection *g_dbus_connection_new_for_address_finish(GAsyncResult *res, GError **error);
gboolean g_dbus_connection_is_closed(GDBusConnection *connection);
void g_dbus_connection_close(
    GDBusConnection *connection, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
GVariant *g_dbus_connection_call_sync(
    GDBusConnection *connection, const gchar *bus_name, const gchar *object_path, const gchar *interface_name,
    const gchar *method_name, GVariant *parameters, const GVariantType *reply_type, GDBusCallFlags flags,
    gint timeout_msec, GCancellable *cancellable, GError **error);
guint g_dbus_connection_signal_subscribe(
    GDBusConnection *connection, const gchar *sender, const gchar *interface_name, const gchar *member,
    const gchar *object_path, const gchar *arg0, GDBusSignalFlags flags, GDBusSignalCallback callback,
    gpointer user_data, GDestroyNotify user_data_free_func);
void g_dbus_connection_signal_unsubscribe(GDBusConnection *connection, guint subscription_id);

// MARK: libsecret. What encrypts a secret for a message, and decrypts one: everything else is asked of the bus directly,
// where each call has a time limit. The two that do it are declared by the headers as subject to change; they have been
// there, unchanged, since libsecret 0.18.

GType secret_service_get_type(void);
void secret_service_ensure_session(
    SecretService *self, GCancellable *cancellable, GAsyncReadyCallback callback, gpointer user_data);
gboolean secret_service_ensure_session_finish(SecretService *self, GAsyncResult *result, GError **error);
const gchar *secret_service_get_session_dbus_path(SecretService *self);
GVariant *secret_service_encode_dbus_secret(SecretService *service, SecretValue *value);
SecretValue *secret_service_decode_dbus_secret(SecretService *service, GVariant *value);
SecretValue *secret_value_new(const gchar *secret, gssize length, const gchar *content_type);
const gchar *secret_value_get(SecretValue *value, gsize *length);
void secret_value_unref(gpointer value);

// MARK: What Swift cannot call as it is

// The C library has it, and declares it for GNU sources alone, which Swift's are not.
extern char *secure_getenv(const char *name);

/// A proxy of the Secret Service that has the unique bus name `owner`, on this very connection, with no session yet.
/// Asks nothing of the service. `type` is `SecretService` or a type derived from it. (`g_initable_new` takes variable
/// arguments, which Swift cannot pass.)
static inline SecretService *csecret_service_new(
    GType type, GDBusConnection *connection, const char *owner, GError **error) {
  return (SecretService *)g_initable_new(
      type, NULL, error,
      "g-connection", connection,
      "g-bus-type", G_BUS_TYPE_NONE,
      "g-name", owner,
      "g-flags", G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES | G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS
          | G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START,
      "flags", SECRET_SERVICE_NONE,
      NULL);
}

#endif
